import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { META } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openGateway } from './gateway.ts';

type Meta = Record<string, unknown>;

/** A real MCP agent whose tool calls the next one through the gateway, with the metadata it likes. */
async function openCaller(next: string, pass: (meta: Meta) => Meta, gatewayUrl: () => string) {
  const seen: Meta[] = [];
  const headers: Meta[] = [];
  const handler = createMcpHandler(({ requestInfo }) => {
    headers.push(Object.fromEntries(requestInfo?.headers ?? []));
    const server = new Server({ name: next, version: '0' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'work', inputSchema: { type: 'object' } }],
    }));
    server.setRequestHandler('tools/call', async (_, { mcpReq }) => {
      const meta: Meta = { ...mcpReq._meta };
      seen.push(meta);
      const client = new Client(
        { name: 'agent', version: '0' },
        { versionNegotiation: { mode: 'auto' } },
      );
      await client.connect(new StreamableHTTPClientTransport(new URL(`${gatewayUrl()}/mcp`)));
      const result = await client.callTool({
        name: 'fabric.call',
        arguments: { agent_id: next, capability: 'work' },
        _meta: pass(meta),
      });
      await client.close();
      const payload = result.structuredContent as { error?: unknown; result?: { answer: string } };
      const text = payload.result?.answer ?? JSON.stringify(payload.error);
      return { content: [{ type: 'text', text }] };
    });
    return server;
  });
  const serve = toNodeHandler(handler);
  const server = createServer(
    (request, response) => void serve(request as Parameters<typeof serve>[0], response),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    uri: `http://127.0.0.1:${port}/mcp`,
    seen,
    headers,
    [Symbol.asyncDispose]: async () => {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const deeper = (meta: Meta): Meta => ({
  ...pick(meta, Object.values(META)),
  [META.depth]: Number(meta[META.depth]) + 1,
});

function pick(meta: Meta, keys: readonly string[]): Meta {
  return Object.fromEntries(keys.flatMap((key) => (key in meta ? [[key, meta[key]]] : [])));
}

describe('three real agents that call each other in a ring', () => {
  const ring = async (pass: (meta: Meta) => Meta, reentrant: boolean) => {
    let url = '';
    const gatewayUrl = () => url;
    await using a = await openCaller('b', pass, gatewayUrl);
    await using b = await openCaller('c', pass, gatewayUrl);
    await using c = await openCaller('a', pass, gatewayUrl);
    const agents = Object.entries({ a, b, c }).map(([agent_id, { uri }]) => ({
      agent_id,
      endpoint: { transport: 'http' as const, uri },
      capabilities: [{ name: 'work', reentrant, idempotent: false }],
    }));
    await using gateway = await openGateway(agents);
    url = gateway.url;
    const payload = await gateway.call({ agent_id: 'a', capability: 'work' });
    const calls = [a, b, c].flatMap(({ seen }) => seen);
    return {
      refusal: JSON.parse(payload.result.answer),
      trace: payload.trace,
      calls,
      headers: a.headers,
    };
  };

  it('[A5][A6] are stopped as a cycle when the fourth call would close it, with the chain named', async () => {
    const { refusal, trace, calls, headers } = await ring(deeper, false);
    expect(refusal).toMatchObject({
      code: 'RECURSION_LIMIT',
      details: { cycle: ['a/work', 'b/work', 'c/work', 'a/work'] },
    });
    expect(calls).toHaveLength(3);
    expect(calls.map((meta) => meta[META.depth])).toEqual(['1', '2', '3']);
    expect(calls.map((meta) => meta[META.trace])).toEqual(Array(3).fill(trace.trace_id));
    expect(calls[2]?.[META.chain]).toBe('a/work,b/work,c/work');
    expect(headers).toContainEqual(
      expect.objectContaining({
        'x-openstarry-trace-id': trace.trace_id,
        'x-openstarry-depth': '1',
      }),
    );
  });

  it('[A6] are stopped at depth 6 when they may be entered again', async () => {
    const { refusal, calls } = await ring(deeper, true);
    expect(refusal).toMatchObject({ code: 'RECURSION_LIMIT', details: { depth: 6, limit: 5 } });
    expect(calls).toHaveLength(5);
  });

  it('[A6] are stopped when they drop everything but the trace', async () => {
    const { refusal, calls } = await ring((meta) => pick(meta, [META.trace]), true);
    expect(refusal.code).toBe('RECURSION_LIMIT');
    expect(calls).toHaveLength(5);
  });

  it('[A6] are stopped when they keep the parent span alone', async () => {
    const { refusal } = await ring((meta) => pick(meta, [META.traceparent]), false);
    expect(refusal).toMatchObject({
      code: 'RECURSION_LIMIT',
      details: { cycle: ['a/work', 'b/work', 'c/work', 'a/work'] },
    });
  });
});
