import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KeptServer, pauseBefore } from '../src/kept-server.ts';
import { childrenWith } from './fixtures/children.ts';
import { type LogLine, recordingLog } from './fixtures/recording-log.ts';

const PATH = fileURLToPath(new URL('./fixtures/light-server.ts', import.meta.url));

async function start({ args = [], port }: { args?: string[]; port?: number } = {}) {
  const { log, lines } = recordingLog();
  const script = { command: process.execPath, args: [PATH, ...args] };
  const server = await KeptServer.start({ name: 'light', script, log }, port);
  onTestFinished(() => server.stop());
  return { server, lines };
}

function deaths(lines: readonly LogLine[]) {
  return lines.filter(({ message }) => message.includes('died')).length;
}

async function pidBehind(url: string): Promise<number> {
  const response = await fetch(url).catch(() => undefined);
  return Number(await response?.text());
}

describe('a kept server', () => {
  it('serves at the address it says', async () => {
    const { server } = await start();
    expect(childrenWith(PATH)).toEqual([await pidBehind(server.url)]);
  });

  it('is started again at the same address each time it is killed', async () => {
    const { server, lines } = await start();
    const { url } = server;
    for (const death of [1, 2]) {
      const killed = await pidBehind(url);
      process.kill(killed, 'SIGKILL');
      await expect.poll(() => deaths(lines)).toBe(death);
      await expect.poll(() => pidBehind(url), { timeout: 15_000 }).toBeGreaterThan(0);
      expect(server.url).toBe(url);
      expect(childrenWith(PATH)).toEqual([await pidBehind(url)]);
      expect(childrenWith(PATH)).not.toEqual([killed]);
    }
    expect(lines).toContainEqual(
      expect.objectContaining({ agent_id: 'light', signal: 'SIGKILL', deaths: 2 }),
    );
  });

  it('is gone when it was stopped, and is not started again', async () => {
    const { server, lines } = await start();
    await server.stop();
    await server.stop();
    expect(childrenWith(PATH)).toEqual([]);
    expect(deaths(lines)).toBe(0);
  });

  it('stays stopped when it is stopped while it waits to be started again', async () => {
    const { server, lines } = await start();
    process.kill(await pidBehind(server.url), 'SIGKILL');
    await expect.poll(() => deaths(lines)).toBe(1);
    await server.stop();
    expect(childrenWith(PATH)).toEqual([]);
  });

  it('stays stopped when it is stopped while it is starting again', async () => {
    const { server, lines } = await start();
    process.kill(await pidBehind(server.url), 'SIGKILL');
    await expect.poll(() => deaths(lines)).toBe(1);
    await expect.poll(() => childrenWith(PATH).length, { interval: 5 }).toBe(1);
    await server.stop();
    expect(childrenWith(PATH)).toEqual([]);
  });

  it.each([
    ['ends before it says anything', ''],
    ['says something else than where it is', 'hello'],
  ])('rejects with what it wrote to stderr when it %s', async (_when, word) => {
    await expect(start({ args: ['--fail', word] })).rejects.toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { agent_id: 'light', stderr: expect.stringContaining('it does not want to') },
    });
    expect(childrenWith(PATH)).toEqual([]);
  });

  it('rejects when its port is taken', async () => {
    const { server } = await start();
    const port = Number(new URL(server.url).port);
    await expect(start({ port })).rejects.toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { stderr: expect.stringContaining('EADDRINUSE') },
    });
  });
});

describe('the pause before a server is started again', () => {
  it('doubles with each death in a row, up to a limit', () => {
    expect([1, 2, 3, 4].map(pauseBefore)).toEqual([250, 500, 1_000, 2_000]);
    expect(pauseBefore(100)).toBe(15_000);
  });
});
