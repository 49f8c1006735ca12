import { once } from 'node:events';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { KEY, openTestGateway, STRANGER_KEY } from '../test-gateway.ts';

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
