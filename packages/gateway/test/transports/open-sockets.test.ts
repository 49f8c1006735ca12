import { once } from 'node:events';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { KEY, openTestGateway, STRANGER_KEY } from '../test-gateway.ts';

it('counts streams of events with the WebSockets of a caller', async () => {
  const config = { limits: { sockets_per_principal: 2 } };
  await using gateway = await openTestGateway({}, { config });
  const listen = async (key: string) => {
    const control = new AbortController();
    const { status, headers } = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: {
          notifications: { toolsListChanged: true },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'x', version: '0' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
      signal: control.signal,
    });
    return { status, retryAfter: headers.get('retry-after'), end: () => control.abort() };
  };
  const streams = [await listen(KEY), await listen(KEY), await listen(KEY)];
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 503]);
  expect(streams[2]?.retryAfter).toBe('1');
  const other = await listen(STRANGER_KEY);
  expect(other.status).toBe(200);
  streams[0]?.end();
  const again = async () => {
    const { status, end } = await listen(KEY);
    end();
    return status;
  };
  await expect.poll(again).toBe(200);
  for (const { end } of [...streams, other]) end();
});

it('keeps one caller to its share of WebSockets, and gives it another when one is closed', async () => {
  await using gateway = await openTestGateway(
    {},
    { config: { limits: { sockets_per_principal: 2 } } },
  );
  const open = async (key: string) => {
    const url = `${gateway.url.replace(/^http/, 'ws')}/mcp/ws`;
    const socket = new WebSocket(url, ['mcp'], { headers: { authorization: `Bearer ${key}` } });
    const what = await once(socket, 'open').then(
      () => 'open',
      (error: unknown) => String(error),
    );
    return { socket, what };
  };
  const first = await open(KEY);
  const second = await open(KEY);
  expect([first.what, second.what]).toEqual(['open', 'open']);
  expect((await open(KEY)).what).toContain('503');
  const other = await open(STRANGER_KEY);
  expect(other.what).toBe('open');
  first.socket.terminate();
  await expect
    .poll(async () => {
      const again = await open(KEY);
      again.socket.terminate();
      return again.what;
    })
    .toBe('open');
  second.socket.terminate();
  other.socket.terminate();
});
