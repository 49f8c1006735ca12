import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';
import { spawnProcess } from '../src/process.ts';
import { isRunning } from './fixtures/running.ts';

const OWNER = fileURLToPath(new URL('./fixtures/owner.ts', import.meta.url));
const SOON = { timeout: 15_000, interval: 50 };

describe.concurrent('when the owner of processes dies', () => {
  it.for(['exits', 'throws'])('its children die with it when it %s', async (ending, { expect }) => {
    await using owner = await startOwner(ending);
    await owner.exited;
    await expect.poll(owner.survivors, SOON).toEqual([]);
  });

  it('a normal exit needs no guardian to kill the groups', async ({ expect }) => {
    await using owner = await startOwner('exits unguarded');
    await owner.exited;
    await expect.poll(owner.survivors, SOON).toEqual(['escaped']);
  });

  it.for(['SIGKILL', 'SIGTERM'] as const)(
    'the guardian ends them after %s',
    async (signal, { expect }) => {
      await using owner = await startOwner('waits');
      expect(owner.survivors()).toEqual(['guardian', 'stubborn', 'bare', 'escaped']);
      process.kill(owner.pid, signal);
      await owner.exited;
      await expect.poll(owner.survivors, SOON).toEqual([]);
    },
  );

  it('a guardian that was killed is replaced, and the new one knows all groups', async ({
    expect,
  }) => {
    await using owner = await startOwner('waits');
    process.kill(owner.pids.guardian, 'SIGKILL');
    await expect.poll(async () => (await owner.ask()).guardian, SOON).not.toBe(owner.pids.guardian);
    expect(owner.survivors()).toEqual(['stubborn', 'bare', 'escaped']);
    process.kill(owner.pid, 'SIGKILL');
    await owner.exited;
    await expect.poll(owner.survivors, SOON).toEqual([]);
  });

  it('a supervisor that ends the owner and its children leaves the rest to the guardian', async ({
    expect,
  }) => {
    await using owner = await spawnProcess({
      command: process.execPath,
      args: argumentsFor('waits'),
    });
    const { value } = await owner.lines().next();
    const { stubborn, bare, escaped, guardian }: Pids = JSON.parse(String(value));
    process.kill(owner.pid, 'SIGKILL');
    await owner.stop();
    expect([stubborn, escaped].filter(isRunning)).toEqual([]);
    await expect.poll(() => [bare, guardian].filter(isRunning), SOON).toEqual([]);
  });

  it('the guardian does not keep an idle owner running', async ({ expect }) => {
    await using owner = await startOwner('stops');
    expect(await owner.exited).toEqual([0, null]);
    expect(owner.survivors()).not.toContain('stubborn');
  });
});

interface Pids {
  readonly guardian: number;
  readonly stubborn: number;
  readonly bare: number;
  readonly escaped: number;
}

/** Not through spawnProcess, which would itself end what the owner leaves behind. */
async function startOwner(ending: string) {
  const stdio = ['pipe', 'pipe', 'ignore'] as const;
  const owner = spawn(process.execPath, argumentsFor(ending), { stdio: [...stdio] });
  const exited = once(owner, 'exit');
  const answers = createInterface({ input: owner.stdout })[Symbol.asyncIterator]();
  const read = async (): Promise<Pids> => JSON.parse((await answers.next()).value ?? '');
  const pids = await read();
  return {
    pid: Number(owner.pid),
    pids,
    exited,
    ask: () => {
      owner.stdin.write('\n');
      return read();
    },
    survivors: () => Object.entries(pids).flatMap(([name, pid]) => (isRunning(pid) ? [name] : [])),
    async [Symbol.asyncDispose]() {
      owner.kill('SIGKILL');
      await exited;
      if (isRunning(pids.escaped)) process.kill(pids.escaped, 'SIGKILL');
    },
  };
}

function argumentsFor(ending: string): string[] {
  return ['--conditions=@starloom/source', OWNER, ending];
}
