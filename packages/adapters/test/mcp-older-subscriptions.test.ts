import { Server } from '@modelcontextprotocol/server';
import { FabricError, type ProtocolNotification } from '@starloom/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { McpRelay } from '../src/mcp/relay.ts';
import { serveSessions } from './fixtures/mcp-http-server.ts';
import { openMcpHttp } from './fixtures/open-mcp.ts';

/** An agent of 2025-11-25 that agrees to all resources but `test://secret`. */
async function openOlder({ subscribe = true } = {}) {
  const asked: string[] = [];
  const servers: Server[] = [];
  const http = await serveSessions(() => {
    const server = new Server(
      { name: 'older', version: '1' },
      { capabilities: { resources: { subscribe } } },
    );
    server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
      asked.push(`+${uri}`);
      if (uri === 'test://secret') throw new Error('no');
      return {};
    });
    server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
      asked.push(`-${uri}`);
      return {};
    });
    servers.push(server);
    return server;
  });
  onTestFinished(() => http.close());
  const adapter = await openMcpHttp(http.uri);
  const update = (uri: string) =>
    servers.at(-1)?.notification({ method: 'notifications/resources/updated', params: { uri } });
  const hasStream = () => http.requests.some(({ method }) => method === 'GET');
  return { http, adapter, asked, update, hasStream };
}

function follow(relay: McpRelay, ...resourceSubscriptions: string[]) {
  const said: ProtocolNotification[] = [];
  const control = new AbortController();
  const over = relay
    .request(
      'subscriptions/listen',
      { notifications: { resourceSubscriptions } },
      { signal: control.signal, onNotification: (each) => void said.push(each) },
    )
    .catch(FabricError.from);
  const stop = () => control.abort(new FabricError('CANCELLED', 'enough'));
  const updates = () =>
    said.filter(({ method }) => method.endsWith('/updated')).map(({ params }) => params?.uri);
  return { said, over, stop, updates };
}

describe('resources of an mcp agent before 2026-07-28', () => {
  it('are followed, as far as the agent agrees', async () => {
    const { adapter, asked, update, hasStream } = await openOlder();
    const { said, over, stop, updates } = follow(adapter, 'test://a', 'test://secret');
    await expect.poll(() => said).toHaveLength(1);
    expect(said[0]).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { resourceSubscriptions: ['test://a'] } },
    });
    await expect.poll(hasStream).toBe(true);
    await expect
      .poll(async () => {
        await update('test://secret');
        await update('test://a');
        return updates()[0];
      })
      .toBe('test://a');
    stop();
    expect(await over).toMatchObject({ code: 'CANCELLED' });
    await expect.poll(() => asked).toEqual(['+test://a', '+test://secret', '-test://a']);
  });

  it('are subscribed to once, and given up with the last who follows', async () => {
    const { adapter, asked } = await openOlder();
    const one = follow(adapter, 'test://a');
    await expect.poll(() => one.said).toHaveLength(1);
    const two = follow(adapter, 'test://a', 'test://b');
    await expect.poll(() => two.said).toHaveLength(1);
    one.stop();
    await one.over;
    expect(asked).toEqual(['+test://a', '+test://b']);
    two.stop();
    await expect.poll(() => asked.slice(2).sort()).toEqual(['-test://a', '-test://b']);
  });

  it('are not followed at an agent that does not offer it', async () => {
    const { adapter, asked } = await openOlder({ subscribe: false });
    const { over } = follow(adapter, 'test://a');
    expect(await over).toMatchObject({ details: { reason: 'no_subscriptions' } });
    expect(asked).toEqual([]);
  });

  it('are not promised over a connection on which the agent cannot speak first', async () => {
    const { http, adapter, asked } = await openOlder();
    const [handle] = http.server.listeners('request');
    http.server.removeAllListeners('request');
    http.server.on('request', (request, response) => {
      if (request.method === 'GET') response.writeHead(405).end();
      else handle?.(request, response);
    });
    const { over } = follow(adapter, 'test://a');
    expect(await over).toMatchObject({ details: { reason: 'no_subscriptions' } });
    expect(asked).toEqual([]);
  });

  it('are over when the connection is', async () => {
    const { adapter } = await openOlder();
    const { said, over } = follow(adapter, 'test://a');
    await expect.poll(() => said).toHaveLength(1);
    await adapter.close();
    expect(FabricError.is(await over)).toBe(true);
  });
});
