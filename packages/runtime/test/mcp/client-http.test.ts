import { randomUUID } from 'node:crypto';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { META } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openServers, textOf } from './fixtures/servers-world.ts';

const failure = (code: string, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });

interface HttpWorld extends AsyncDisposable {
  readonly url: string;
  readonly requests: { readonly headers: IncomingMessage['headers']; readonly body: unknown }[];
  readonly tools: string[];
  /** What `tools/list` waits for. */
  listing: Promise<void>;
  /** Tells clients of a changed list. */
  changed(): void;
  /** Forgets every session. */
  forget(): void;
  stop(): Promise<void>;
}

/** A real server over HTTP. `sessions`: of the older kind, with sessions. */
async function openHttpServer(
  kind: 'modern' | 'sessions',
  options: { readonly key?: string; readonly port?: number; readonly bytes?: number } = {},
): Promise<HttpWorld> {
  const requests: { headers: IncomingMessage['headers']; body: unknown }[] = [];
  const tools = ['echo'];
  const create = () => {
    const server = new Server(
      { name: 'http-server', version: '1.0.0' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler('tools/list', async () => {
      await world.listing;
      return { tools: tools.map((name) => ({ name, inputSchema: { type: 'object' as const } })) };
    });
    server.setRequestHandler('tools/call', (_, { mcpReq }) => ({
      content: [
        {
          type: 'text',
          text: options.bytes ? 'x'.repeat(options.bytes) : JSON.stringify(mcpReq._meta),
        },
      ],
    }));
    return server;
  };
  const handler = createMcpHandler(create, { legacy: 'reject' });
  const serveModern = toNodeHandler(handler);
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  const serveSession = async (
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ) => {
    const id = request.headers['mcp-session-id'];
    let transport = typeof id === 'string' ? sessions.get(id) : undefined;
    if (!transport && id !== undefined) return void response.writeHead(404).end();
    if (!transport) {
      const opened = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (opened_id) => void sessions.set(opened_id, opened),
      });
      await create().connect(opened);
      transport = opened;
    }
    await transport.handleRequest(request, response, body);
  };
  const server = createHttpServer(async (request, response) => {
    const text = (await Array.fromAsync(request)).join('');
    const body = text === '' ? undefined : JSON.parse(text);
    requests.push({ headers: request.headers, body });
    if (options.key && request.headers.authorization !== `Bearer ${options.key}`) {
      return void response.writeHead(401).end();
    }
    if (kind === 'sessions') await serveSession(request, response, body);
    else await serveModern(request as Parameters<typeof serveModern>[0], response, body);
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const stop = async () => {
    await handler.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const world: HttpWorld = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    tools,
    changed: () => handler.notify.toolsChanged(),
    forget: () => sessions.clear(),
    listing: Promise.resolve(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return world;
}

describe('MCP servers over HTTP', () => {
  it.each(['modern', 'sessions'] as const)(
    '[A5] are called with their headers, a trace on every request (%s)',
    async (kind) => {
      await using http = await openHttpServer(kind, { key: 'secret' });
      const headers = { authorization: 'Bearer secret', 'x-team': 'blue' };
      await using world = await openServers(() => [{ name: 'web', url: http.url, headers }]);
      await world.servers.ready();
      expect(world.names()).toEqual(['web:echo']);
      const meta = JSON.parse(textOf(await world.call('web:echo')));
      expect(meta).toMatchObject({ [META.depth]: '2' });
      for (const request of http.requests) expect(request.headers).toMatchObject(headers);
      const asked = http.requests.flatMap(({ body }) => {
        const { id, params } = (body ?? {}) as { id?: unknown; params?: { _meta?: object } };
        return id === undefined ? [] : [params?._meta];
      });
      expect(asked.length).toBeGreaterThan(1);
      for (const carried of asked) {
        expect(carried).toMatchObject({ [META.trace]: expect.stringMatching(/^[0-9a-f-]{36}$/) });
      }
    },
  );

  it('are ready when their tools are known, not before, for every caller', async () => {
    await using http = await openHttpServer('modern');
    const listing = Promise.withResolvers<void>();
    http.listing = listing.promise;
    await using world = await openServers(() => [{ name: 'web', url: http.url }]);
    world.servers.list();
    await expect
      .poll(() => http.requests.map(({ body }) => (body as { method?: string })?.method))
      .toContain('tools/list');
    const seen = world.servers.ready().then(() => world.names());
    listing.resolve();
    expect(await seen).toEqual(['web:echo']);
  });

  it('say why they refuse every client', async () => {
    await using http = await openHttpServer('modern', { key: 'secret' });
    await using world = await openServers(() => [{ name: 'web', url: http.url }]);
    await world.servers.ready();
    const [health] = world.servers.health;
    expect(health?.failure).toEqual(failure('AUTH_DENIED', { server: 'web', status: 401 }));
  });

  it('are listened to when their tools change', async () => {
    await using http = await openHttpServer('modern');
    await using world = await openServers(() => [{ name: 'web', url: http.url }]);
    await world.servers.ready();
    await expect
      .poll(() => http.requests.map(({ body }) => (body as { method?: string })?.method))
      .toContain('subscriptions/listen');
    http.tools.push('later');
    await expect
      .poll(() => {
        http.changed();
        return world.names();
      })
      .toEqual(['web:echo', 'web:later']);
  });

  it('are reached again after they were away', async () => {
    const first = await openHttpServer('modern');
    await using world = await openServers(() => [{ name: 'web', url: first.url }]);
    await world.servers.ready();
    await first.stop();
    await expect(world.call('web:echo')).rejects.toThrow(failure('AGENT_OFFLINE'));
    expect(world.servers.health).toMatchObject([{ state: 'offline', tools: 1 }]);
    await using _ = await openHttpServer('modern', { port: Number(new URL(first.url).port) });
    expect(textOf(await world.call('web:echo'))).toContain('trace');
    expect(world.servers.health).toMatchObject([{ state: 'online' }]);
  });

  it('are greeted again when they forgot the session, without the caller noticing', async () => {
    await using http = await openHttpServer('sessions');
    await using world = await openServers(() => [{ name: 'web', url: http.url }]);
    await world.servers.ready();
    http.forget();
    expect(textOf(await world.call('web:echo'))).toContain('trace');
    expect(world.servers.health).toMatchObject([{ state: 'online', starts: 2 }]);
  });

  it('cannot fill the memory with one answer', async () => {
    await using http = await openHttpServer('modern', { bytes: 17 * 2 ** 20 });
    await using world = await openServers(() => [{ name: 'web', url: http.url }]);
    await world.servers.ready();
    await expect(world.call('web:echo')).rejects.toThrow(failure('UPSTREAM_ERROR'));
  });
});
