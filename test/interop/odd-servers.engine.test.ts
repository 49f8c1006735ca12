import { fileURLToPath } from 'node:url';
import type { ManifestInput } from '@starloom/core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../support/connect.ts';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';
import { awaitTools, PATIENCE } from './await-tools.ts';
import { type Driver, openDriver } from './driver.ts';
import { nodeAgent } from './real-agents.ts';

const ODD_SERVER = fileURLToPath(new URL('fixtures/odd-server.ts', import.meta.url));
const TYPESCRIPT = fileURLToPath(new URL('clients/typescript-v2.ts', import.meta.url));
const MAX_LIST_LENGTH = 1_048_576;

describe('servers that behave badly', () => {
  const stack = new AsyncDisposableStack();
  let gateway: RunningGateway;
  let client: Driver;

  const open = (name: string) => {
    const { url, key } = gateway;
    return openDriver({ command: process.execPath, args: [TYPESCRIPT] }, { url, key, name });
  };

  beforeAll(async () => {
    gateway = stack.use(
      await startGateway({
        config: { telemetry: { log_level: 'warn' } },
        agents: [
          odd('one', 'plain'),
          odd('two', 'plain'),
          odd('restless', 'changing'),
          odd('long', 'long-description'),
          odd('impostor', 'our-names'),
          odd('a', 'split-names'),
          odd('a_b', 'split-names'),
          odd('broken', 'crashing'),
        ],
      }),
    );
    client = stack.use(await open('interop'));
  });

  afterAll(() => stack.disposeAsync());

  const names = async (of: Driver) => (await of.list()).map(({ name }) => name);
  const textOf = async (of: Driver, name: string) => (await of.call(name)).content[0]?.text;

  it('[G22] keeps tools with equal names of two servers apart', async () => {
    await awaitTools(client, 'one.search', 'two.search');
    expect(await textOf(client, 'one.search')).toBe('one ran search');
    expect(await textOf(client, 'two.search')).toBe('two ran search');
  });

  it('[G22] keeps its own tool when a server has one of that name', async () => {
    await awaitTools(client, 'impostor.fabric.call', 'fabric.call');
    expect((await names(client)).filter((name) => name === 'fabric.call')).toHaveLength(1);
    expect(await textOf(client, 'impostor.fabric.call')).toBe('impostor ran fabric.call');
    const { structuredContent } = await client.call('fabric.call', {
      agent_id: 'one',
      capability: 'search',
    });
    expect(structuredContent).toMatchObject({ ok: true, agent_id: 'one' });
  });

  it('[G22] gives tools that would share a spelling two names, and no bare one', async () => {
    await using picky = await open('claude-code');
    await awaitTools(picky, 'one_search');
    const all = await names(picky);
    expect(new Set(all).size).toBe(all.length);
    const shared = all.filter((name) => name.startsWith('a_b_c'));
    expect(shared).toEqual([
      expect.stringMatching(/^a_b_c-[0-9a-f]{8}$/),
      expect.stringMatching(/^a_b_c-[0-9a-f]{8}$/),
    ]);
    const texts = await Promise.all(shared.map((name) => textOf(picky, name)));
    expect(texts.sort()).toEqual(['a ran b_c', 'a_b ran c']);
    expect(await picky.startCall('a_b_c').outcome).toMatchObject({ kind: 'error' });
    expect(await textOf(picky, 'a.b_c')).toBe('a ran b_c');
    expect(await textOf(picky, 'a_b.c')).toBe('a_b ran c');
  });

  it('[G22] follows a list that changes every second, and serves what stays', async () => {
    const seen = new Set<string>();
    await vi.waitFor(async () => {
      const all = await names(client);
      const changing = all.filter((name) => name.startsWith('restless.tool-'));
      expect(changing.length).toBeLessThanOrEqual(1);
      for (const name of changing) seen.add(name);
      expect(all).toContain('restless.stable');
      expect(await textOf(client, 'restless.stable')).toBe('restless ran stable');
      expect(seen.size).toBeGreaterThanOrEqual(3);
    }, PATIENCE);
    expect(client.toolsChanged).toBeGreaterThan(0);
  });

  it('[G22] does not pass on a description of 10 MB, and says which agent has it', async () => {
    await awaitTools(client, 'one.search', 'long.search');
    const tools = await client.list();
    expect(JSON.stringify(tools).length).toBeLessThan(MAX_LIST_LENGTH);
    expect(await textOf(client, 'long.search')).toBe('long ran search');
    await vi.waitFor(() => {
      const warnings = gateway.log.filter((line) => line.includes('"long"'));
      expect(warnings.join('\n')).toMatch(/description/);
    }, PATIENCE);
  });

  it('[G22] carries the last words and the exit code of a server that ended', async () => {
    await awaitTools(client, 'broken.crash');
    const { isError, _meta } = await client.call('broken.crash');
    expect(isError).toBe(true);
    expect(_meta?.['io.starloom/error']).toMatchObject({
      error: {
        code: expect.stringMatching(/^(AGENT_OFFLINE|UPSTREAM_ERROR)$/),
        details: { upstream: expect.anything() },
      },
    });
    const payload = JSON.stringify(_meta?.['io.starloom/error']);
    expect(payload).toContain('the licence of this server expired');
    expect(payload).toMatch(/exit[^,]*\b3\b/);
    await vi.waitFor(() => {
      expect(gateway.log.join('\n')).toContain('the licence of this server expired');
    }, PATIENCE);
  });

  it('[G22] answers while one server changes, one is too long and one crashes', async () => {
    await using other = await connect(gateway);
    const { structuredContent } = await other.callTool({ name: 'fabric.health', arguments: {} });
    expect(structuredContent).toMatchObject({ ok: true });
  });
});

function odd(agent_id: string, kind: string): ManifestInput {
  return nodeAgent(agent_id, [ODD_SERVER, kind, agent_id]);
}
