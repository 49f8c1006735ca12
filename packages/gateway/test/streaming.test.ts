import { request as httpRequest } from 'node:http';
import type { EventBody, FabricEvent } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { answers, call, connect, KEY, openTestGateway, type TestAgent } from './test-gateway.ts';

const token = (text: string): EventBody => ({ type: 'token', data: { text } });
const types = (events: readonly FabricEvent[]) => events.map(({ type }) => type);

describe('streaming', () => {
  const talkative: TestAgent = {
    run: answers(
      'one two',
      token('one '),
      { type: 'progress', data: { percent: 50 } },
      { type: 'tool_call', data: { id: '1', name: 'look', args: {}, phase: 'start' } },
      { type: 'tool_call', data: { id: '1', name: 'look', args: {}, phase: 'end', result: 7 } },
      token('two'),
    ),
  };

  it.each(['auto', 'legacy'] as const)(
    '[G4][G27] sends a %s client every event in order, with trace, and the result holds it again',
    async (mode) => {
      await using gateway = await openTestGateway({ percy: talkative });
      await using client = await connect(gateway.url, mode);
      const args = { agent_id: 'percy', capability: 'work', stream: true };
      const { payload, events } = await call(client, 'fabric.call', args);
      expect(types(events)).toEqual([
        'status',
        'status',
        'status',
        'token',
        'progress',
        'tool_call',
        'tool_call',
        'token',
        'final',
      ]);
      expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      for (const event of events) {
        expect(event).toMatchObject({ agent_id: 'percy', trace: payload.trace });
      }
      expect(payload.result).toMatchObject({
        answer: 'one two',
        tool_calls: [{ id: '1', name: 'look', args: {}, result: 7 }],
      });
    },
  );

  it('sends no event to a client that gave no progress token', async () => {
    await using gateway = await openTestGateway({ percy: talkative });
    await using client = await connect(gateway.url);
    const args = { capability: 'work', stream: true };
    const { payload, events } = await call(client, 'fabric.call', args, { events: false });
    expect(payload.result.answer).toBe('one two');
    expect(events).toEqual([]);
  });

  it('[G27] holds nothing back: the client has one token before the agent gives the next', async () => {
    const acknowledged = Promise.withResolvers<void>();
    const run: TestAgent['run'] = async function* () {
      yield token('first');
      await acknowledged.promise;
      yield token('second');
      yield { type: 'final', data: { answer: 'both' } };
    };
    await using gateway = await openTestGateway({ percy: { run } });
    await using client = await connect(gateway.url);
    const texts: unknown[] = [];
    const result = await client.callTool(
      { name: 'fabric.call', arguments: { capability: 'work', stream: true } },
      {
        onprogress: ({ message }) => {
          texts.push(message);
          if (message === 'first') acknowledged.resolve();
        },
      },
    );
    expect(result.isError).toBeUndefined();
    expect(texts).toContain('second');
  });

  it('tells the agent when the client cancels', async () => {
    const told = Promise.withResolvers<unknown>();
    const run: TestAgent['run'] = async function* (_, signal) {
      signal.addEventListener('abort', () => told.resolve(signal.reason), { once: true });
      yield token('working');
      await new Promise(() => {});
    };
    await using gateway = await openTestGateway({ percy: { run } });
    await using client = await connect(gateway.url);
    const control = new AbortController();
    const calling = client.callTool(
      { name: 'fabric.call', arguments: { capability: 'work', stream: true } },
      {
        signal: control.signal,
        onprogress: ({ message }) => message === 'working' && control.abort(),
      },
    );
    await expect(calling).rejects.toThrow();
    expect(await told.promise).toMatchObject({ code: 'CANCELLED' });
  });

  it('[G9] serves other callers while forty agents stream as fast as they can', async () => {
    let isOver = false;
    let begun = 0;
    let ended = 0;
    const greedy: TestAgent['run'] = async function* () {
      begun += 1;
      for (let sent = 0; sent < 20_000 && !isOver; sent += 1) yield token('x');
      ended += 1;
      yield { type: 'final', data: { answer: 'over' } };
    };
    const agents = { greedy: { run: greedy }, quick: { run: answers('quick') } };
    await using gateway = await openTestGateway(agents);
    await using client = await connect(gateway.url);
    const ask = (agent_id: string) =>
      call(
        client,
        'fabric.call',
        { agent_id, capability: 'work', stream: true },
        { events: false },
      );
    const streams = Array.from({ length: 40 }, () => ask('greedy'));
    await expect.poll(() => begun).toBe(40);
    for (let round = 0; round < 5; round += 1) {
      expect((await ask('quick')).payload.result.answer).toBe('quick');
    }
    expect(ended).toBe(0);
    isOver = true;
    for (const { payload } of await Promise.all(streams)) expect(payload.ok).toBe(true);
  });

  it('cuts a reader off with OVERLOADED that takes nothing for too long, and the agent is told', async () => {
    const told = Promise.withResolvers<unknown>();
    const run: TestAgent['run'] = async function* (_, signal) {
      signal.addEventListener('abort', () => told.resolve(signal.reason), { once: true });
      while (true) {
        yield token('x'.repeat(64 * 1024));
        await new Promise(setImmediate);
      }
    };
    await using gateway = await openTestGateway({ percy: { run } }, { stallMs: 300 });
    const stuck = openStuckReader(gateway.url);
    expect(await told.promise).toMatchObject({ code: 'OVERLOADED' });
    await expect
      .poll(async () => await (await fetch(`${gateway.url}/metrics`)).text())
      .toContain('starloom_stream_dropped_total{reason="slow_reader"} 1');
    stuck.destroy();
  });

  it('holds the agent back while the client does not read', async () => {
    let produced = 0;
    const ended = Promise.withResolvers<void>();
    const run: TestAgent['run'] = async function* (_, signal) {
      signal.addEventListener('abort', () => ended.resolve(), { once: true });
      const text = 'x'.repeat(64 * 1024);
      while (!signal.aborted) {
        produced += 1;
        yield token(text);
        await new Promise(setImmediate);
      }
    };
    await using gateway = await openTestGateway({ percy: { run } });
    const stuck = openStuckReader(gateway.url);
    try {
      let before = -1;
      await expect
        .poll(
          () => {
            const still = produced > 0 && produced === before;
            before = produced;
            return still;
          },
          { interval: 500, timeout: 10_000 },
        )
        .toBe(true);
      expect(produced).toBeLessThan(500);
    } finally {
      stuck.destroy();
    }
    await ended.promise;
  });
});

/** Sends a streaming call and never reads a byte of the answer. */
function openStuckReader(url: string) {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'fabric.call',
      arguments: { capability: 'work', stream: true },
      _meta: {
        progressToken: 1,
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'stuck', version: '0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  });
  const request = httpRequest(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'fabric.call',
    },
  });
  request.on('response', (response) => response.pause());
  request.on('error', () => {});
  request.end(body);
  return request;
}
