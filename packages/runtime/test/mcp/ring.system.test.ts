import { fileURLToPath } from 'node:url';
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { createTrace, META, type Trace, toMeta } from '@starloom/core';
import { freePort } from '@starloom/testkit';
import { type ManagedProcess, spawnProcess } from '@starloom/wire';
import { describe, expect, it } from 'vitest';

interface Said {
  readonly ready?: string;
  readonly hop?: { readonly depth: number; readonly chain: readonly string[] };
  readonly code?: string;
  readonly trace?: Trace;
}

interface RingAgent extends AsyncDisposable {
  readonly url: string;
  readonly said: Said[];
}

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}.ts`, import.meta.url));

async function start(script: string, ...args: string[]): Promise<RingAgent> {
  const child = await spawnProcess({
    command: process.execPath,
    args: ['--conditions=@starloom/source', fixture(script), ...args],
  });
  const said: Said[] = [];
  const ready = Promise.withResolvers<string>();
  void listen(child, (line) => {
    said.push(line);
    if (line.ready) ready.resolve(line.ready);
  }).then(() => ready.reject(new Error(`${script} ended: ${child.stderrTail()}`)));
  return {
    url: await ready.promise,
    said,
    [Symbol.asyncDispose]: async () => void (await child.stop()),
  };
}

async function listen(child: ManagedProcess, onSaid: (said: Said) => void): Promise<void> {
  for await (const line of child.lines()) onSaid(JSON.parse(line));
}

/** Asks an agent directly, as the first of a chain. */
async function ask(url: string, trace: Trace, depth = 1): Promise<CallToolResult> {
  const client = new Client(
    { name: 'person', version: '0' },
    { versionNegotiation: { mode: 'auto' } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  try {
    return (await client.callTool(
      {
        name: 'ask',
        arguments: { prompt: 'begin' },
        _meta: toMeta(trace, { depth, chain: [] }),
      },
      { timeout: 45_000 },
    )) as CallToolResult;
  } finally {
    await client.close();
  }
}

const wordsOf = ({ content }: CallToolResult) =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

/** a → b → c → a, where c may be a foreign agent that keeps only some metadata. */
async function ring(kept?: readonly string[]) {
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const [a, b, c] = ports.map((port) => `http://127.0.0.1:${port}/mcp`) as [string, string, string];
  const [portA, portB, portC] = ports.map(String) as [string, string, string];
  const agents = await Promise.all([
    start('ring-agent', 'a', portA, b),
    start('ring-agent', 'b', portB, c),
    kept ? start('forgetful-agent', portC, a, ...kept) : start('ring-agent', 'c', portC, a),
  ]);
  const said = () => agents.flatMap((agent) => agent.said);
  return {
    agents,
    said,
    codes: () => said().flatMap(({ code }) => code ?? []),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
    },
  };
}

describe('three real agents that call each other in a ring', () => {
  it('[A6] are stopped as a cycle or at depth 6; the refused trace stays refused, others go on', async () => {
    await using world = await ring();
    const [a] = world.agents;
    const trace = createTrace();
    const answer = await ask(a.url, trace);
    expect(wordsOf(answer)).toContain('a/ask → b/ask → c/ask → a/ask');
    await expect.poll(() => world.codes()).toEqual(['OK', 'OK', 'RECURSION_LIMIT']);
    const calls = world.said().flatMap(({ hop }) => (hop ? [hop] : []));
    expect(calls).toEqual([
      { depth: 1, chain: ['a/ask'] },
      { depth: 2, chain: ['a/ask', 'b/ask'] },
      { depth: 3, chain: ['a/ask', 'b/ask', 'c/ask'] },
    ]);
    const traces = world.said().flatMap(({ trace: of }) => of?.trace_id ?? []);
    expect(new Set(traces)).toEqual(new Set([trace.trace_id]));

    const again = await ask(a.url, trace);
    expect(again.isError).toBe(true);
    expect(JSON.parse(wordsOf(again)).error).toMatchObject({
      code: 'RECURSION_LIMIT',
      details: { reason: 'tripped' },
    });
    expect(wordsOf(await ask(a.url, createTrace()))).toContain('a/ask → b/ask → c/ask → a/ask');

    expect(wordsOf(await ask(a.url, createTrace(), 5))).toContain('depth 6 is beyond the limit');
    expect(JSON.parse(wordsOf(await ask(a.url, createTrace(), 6))).error).toMatchObject({
      code: 'RECURSION_LIMIT',
      details: { depth: 6, limit: 5, chain: [] },
    });
  });

  it.each([
    ['the trace', [META.depth], 12],
    ['the depth and the chain', [META.trace], 12],
    ['all but the span', [META.traceparent], 80],
  ])('are stopped though one of them drops %s', async (_, kept, most) => {
    await using world = await ring(kept);
    const [a] = world.agents;
    await ask(a.url, createTrace());
    await expect.poll(() => world.codes()).toContain('RECURSION_LIMIT');
    const depths = world.said().flatMap(({ hop }) => hop?.depth ?? []);
    expect(Math.max(...depths)).toBeLessThanOrEqual(5);
    expect(depths.length).toBeLessThan(most);
  });
});
