import { silentLog } from '@starloom/core';
import { describe, expect, it, vi } from 'vitest';
import type { McpConnection } from '../src/connection.ts';
import { Exchange } from '../src/exchange.ts';
import { ToolCatalog } from '../src/tool-catalog.ts';

/** A server whose answers to `tools/list` are given one by one. */
function openList() {
  const asked: Exchange[] = [];
  const line = { pause: () => {}, resume: () => {}, release: () => {} };
  const connection = {
    isHttp: false,
    era: 'modern',
    capabilities: { tools: { listChanged: true } },
    watches: () => true,
    send: () => {
      const exchange = new Exchange(asked.length, line);
      asked.push(exchange);
      return exchange;
    },
  } as unknown as McpConnection;
  return {
    connection,
    asked,
    answer(index: number, ...names: string[]) {
      const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
      asked[index]?.settle({ jsonrpc: '2.0', id: index, result: { tools } });
    },
  };
}

const signal = new AbortController().signal;

describe('the list of tools', () => {
  it('is asked for once, however many want it, and kept', async () => {
    const server = openList();
    const catalog = new ToolCatalog(silentLog);
    const both = [
      catalog.all(server.connection, signal),
      catalog.all(server.connection, signal),
    ] as const;
    server.answer(0, 'one');
    for (const tools of await Promise.all(both)) expect([...tools.keys()]).toEqual(['one']);
    expect([...(await catalog.all(server.connection, signal)).keys()]).toEqual(['one']);
    expect(server.asked).toHaveLength(1);
  });

  it('is asked for again after a change, even while an older answer is still to come', async () => {
    const server = openList();
    const catalog = new ToolCatalog(silentLog);
    const before = catalog.all(server.connection, signal);
    catalog.invalidate();
    const after = catalog.all(server.connection, signal);
    server.answer(1, 'old', 'new');
    server.answer(0, 'old');
    expect([...(await before).keys()]).toEqual(['old']);
    expect([...(await after).keys()]).toEqual(['old', 'new']);
    expect([...(await catalog.all(server.connection, signal)).keys()]).toEqual(['old', 'new']);
    expect(server.asked).toHaveLength(2);
  });

  it('is asked for twice and then rarely when the server says all the time that it changed', async () => {
    vi.useFakeTimers();
    const server = openList();
    const catalog = new ToolCatalog(silentLog);
    const calls: Promise<unknown>[] = [];
    for (let change = 0; change < 50; change += 1) {
      catalog.invalidate();
      calls.push(catalog.all(server.connection, signal));
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(server.asked).toHaveLength(2);
    catalog.invalidate();
    calls.push(catalog.all(server.connection, signal));
    await vi.advanceTimersByTimeAsync(500);
    expect(server.asked).toHaveLength(3);
    for (const index of [0, 1, 2]) server.answer(index, `list ${index}`);
    await Promise.all(calls);
    expect([...(await catalog.all(server.connection, signal)).keys()]).toEqual(['list 2']);
    expect(server.asked).toHaveLength(3);
    vi.useRealTimers();
  });
});
