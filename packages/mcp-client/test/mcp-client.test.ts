import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { FabricError, type Fields, silentLog } from '@starloom/core';
import { createExcerpt } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { httpTransports, McpClient, type McpClientOptions } from '../src/index.ts';

/** A real server over HTTP with the tools `echo` and `steps`. */
async function openServer(port = 0) {
  const bodies: Fields[] = [];
  const handler = createMcpHandler(
    () => {
      const server = new Server(
        { name: 'server', version: '1.0.0' },
        { capabilities: { tools: {} } },
      );
      server.setRequestHandler('tools/list', () => ({
        tools: ['echo', 'steps'].map((name) => ({
          name,
          inputSchema: { type: 'object' as const },
        })),
      }));
      server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken ?? 0;
        if (params.name === 'steps') {
          for (const progress of [1, 2]) {
            const step = { progressToken, progress, total: 4, message: `step ${progress}` };
            await mcpReq.notify({ method: 'notifications/progress', params: step });
          }
        }
        return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
      });
      return server;
    },
    { legacy: 'reject' },
  );
  const serve = toNodeHandler(handler);
  const server = createServer(async (request: IncomingMessage, response) => {
    const body = JSON.parse((await Array.fromAsync(request)).join('') || '{}');
    bodies.push(body);
    await serve(request as Parameters<typeof serve>[0], response, body);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: bound } = server.address() as AddressInfo;
  return {
    uri: `http://127.0.0.1:${bound}/mcp`,
    port: bound,
    bodies,
    async [Symbol.asyncDispose]() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function openClient(uri: string, more: Partial<McpClientOptions> = {}) {
  const client = new McpClient({
    source: httpTransports({
      uri,
      headers: {},
      maxMessageBytes: 1_048_576,
      excerpt: createExcerpt({}),
      connections: 4,
      connectTimeoutMs: 10_000,
      log: silentLog,
    }),
    info: { name: 'test-client', version: '7' },
    capabilities: {},
    connectTimeoutMs: 10_000,
    log: silentLog,
    ...more,
  });
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

const { signal } = new AbortController();

describe('an MCP client', () => {
  it('connects when first needed, and says who it is', async () => {
    await using server = await openServer();
    const opened: string[] = [];
    await using client = openClient(server.uri, { onOpened: () => void opened.push('one') });
    expect([client.state, client.starts, server.bodies.length]).toEqual(['idle', 0, 0]);
    expect([...(await client.tools(signal)).keys()]).toEqual(['echo', 'steps']);
    expect([client.state, client.starts, opened]).toEqual(['online', 1, ['one']]);
    const text = JSON.stringify(server.bodies);
    expect(text).toContain('"name":"test-client"');
  });

  it('calls a tool with its progress, in order', async () => {
    await using server = await openServer();
    await using client = openClient(server.uri);
    const told: unknown[] = [];
    const result = await client.callTool(
      'steps',
      { a: 1 },
      { signal, meta: { 'vendor/key': 'kept' }, onProgress: (progress) => told.push(progress) },
    );
    expect(result.content).toEqual([{ type: 'text', text: '{"a":1}' }]);
    expect(told).toEqual([
      { message: 'step 1', percent: 25, counted: { progress: 1, total: 4 } },
      { message: 'step 2', percent: 50, counted: { progress: 2, total: 4 } },
    ]);
    expect(JSON.stringify(server.bodies)).toContain('"vendor/key":"kept"');
  });

  it('is offline while the server is away, tells why, and comes back with the next call', async () => {
    const first = await openServer();
    const failures: string[] = [];
    const onFailure = ({ details }: FabricError) => void failures.push(String(details.reason));
    await using client = openClient(first.uri, { onFailure });
    await client.callTool('echo', {}, { signal });
    await first[Symbol.asyncDispose]();
    const failure = await client.callTool('echo', {}, { signal }).catch((error) => error);
    expect(failure).toMatchObject({ code: 'AGENT_OFFLINE' });
    expect(client).toMatchObject({ state: 'offline', starts: 1, failure });
    expect(failures).toEqual([failure.details.reason]);
    await using _ = await openServer(first.port);
    await client.callTool('echo', {}, { signal });
    expect(client).toMatchObject({ state: 'online', starts: 2, failure: undefined });
  });

  it('tries a server that keeps failing ever more slowly, when asked to', async () => {
    const away = await openServer();
    await away[Symbol.asyncDispose]();
    await using client = openClient(away.uri, { longestBackoffMs: 60_000 });
    const reasons: unknown[] = [];
    await expect
      .poll(
        async () => {
          const error = await client.tools(signal).catch((thrown) => thrown);
          reasons.push(error.details.reason);
          return error.details;
        },
        { interval: 1 },
      )
      .toMatchObject({ reason: 'backoff', retry_after_ms: expect.any(Number), sent: false });
    expect(reasons[0]).toBe('refused');
    expect(client.starts).toBeLessThan(10);
    expect(client.failure).toMatchObject({ details: { reason: 'refused' } });
  });

  it('ends what is under way when its caller leaves, and when it is closed', async () => {
    await using server = await openServer();
    const client = openClient(server.uri);
    const leaving = AbortSignal.abort(new FabricError('CANCELLED', 'left'));
    await expect(client.callTool('echo', {}, { signal: leaving })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    await client.tools(signal);
    await client.close();
    await expect(client.callTool('echo', {}, { signal })).rejects.toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'closed', sent: false },
    });
  });
});
