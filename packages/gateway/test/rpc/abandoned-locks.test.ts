import { describe, expect, it } from 'vitest';
import { type CoordinationWorld, openCoordinationWorld } from '../coordination-world.ts';
import { bearer, open, SocketTransport } from '../message-clients.ts';
import { KEY } from '../test-gateway.ts';
import { openLocked, openSocket, post, request } from './clients.ts';

type Args = Record<string, unknown>;
/** Begins to wait for a lock; what it returns gives up. */
type Wait = (world: CoordinationWorld, args: Args) => Promise<() => unknown>;

const METHOD = 'memory_locker.acquire';
const REVISION = '2026-07-28';

const byPost =
  (accept: string): Wait =>
  async ({ url }, args) => {
    const { signal, leave } = leaving();
    post(url, request(1, METHOD, args), { accept, signal }).catch(() => {});
    return leave;
  };

const bySocket: Wait = async ({ url }, args) => {
  const { socket, send } = await openSocket(url);
  send(JSON.stringify(request(1, METHOD, args)));
  return () => socket.terminate();
};

const byMcpSocket =
  (how: 'cancel' | 'terminate', mode: 'auto' | 'legacy'): Wait =>
  async ({ url }, args) => {
    const transport = new SocketTransport(`${url.replace('http', 'ws')}/mcp/ws`, ['mcp', bearer]);
    const client = await open(transport, mode);
    const { signal, leave } = leaving();
    client.callTool({ name: 'lock.acquire', arguments: args }, { signal }).catch(() => {});
    return how === 'cancel' ? leave : () => transport.socket.terminate();
  };

const byMcpPost =
  (headers: Record<string, string>, meta: object): Wait =>
  async ({ url }, args) => {
    const { signal, leave } = leaving();
    const params = { name: 'lock.acquire', arguments: args, _meta: meta };
    fetch(`${url}/mcp`, {
      method: 'POST',
      signal,
      headers: {
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(request(1, 'tools/call', params)),
    }).catch(() => {});
    return leave;
  };

const currentHeaders = {
  'mcp-protocol-version': REVISION,
  'mcp-method': 'tools/call',
  'mcp-name': 'lock.acquire',
};
const currentMeta = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '0' },
};
const withLogs = { ...currentMeta, 'io.modelcontextprotocol/logLevel': 'debug' };

describe('a place in the queue of a lock', () => {
  it.each<[string, Wait]>([
    ['aborts its POST', byPost('application/json')],
    ['leaves its stream of events', byPost('text/event-stream')],
    ['ends its WebSocket', bySocket],
    ['cancels the tool call on a WebSocket', byMcpSocket('cancel', 'auto')],
    ['cancels the tool call on a WebSocket as older clients do', byMcpSocket('cancel', 'legacy')],
    ['ends the WebSocket of the tool call', byMcpSocket('terminate', 'auto')],
    ['ends the WebSocket of the tool call as an older client', byMcpSocket('terminate', 'legacy')],
    ['aborts the POST of the tool call', byMcpPost(currentHeaders, currentMeta)],
    ['aborts a POST that wants logs of the tool call', byMcpPost(currentHeaders, withLogs)],
    ['aborts the POST of the tool call as an older client', byMcpPost({}, {})],
  ])('is given up when the client %s, and the lock goes to nobody', async (_, wait) => {
    await using world = await openCoordinationWorld();
    const locked = await openLocked(world);
    const leave = await wait(world, locked.acquire);
    await locked.untilWaiting();
    await leave();
    await expect.poll(locked.waiters, { timeout: 15_000 }).toEqual([]);
    await locked.release();
    expect(await locked.isLocked()).toBe(false);
  });

  it('leads to the lock for who stays', async () => {
    await using world = await openCoordinationWorld();
    const locked = await openLocked(world);
    const answer = post(world.url, request(1, METHOD, locked.acquire));
    await locked.untilWaiting();
    await locked.release();
    expect(await (await answer).json()).toMatchObject({ result: { resource: 'context' } });
    expect(await locked.isLocked()).toBe(true);
  });
});

function leaving() {
  const controller = new AbortController();
  return { signal: controller.signal, leave: () => controller.abort() };
}
