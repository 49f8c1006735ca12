import type { Client } from '@modelcontextprotocol/client';
import { manifestSchema } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { bearer, open, PipeTransport, SocketTransport } from './message-clients.ts';
import { answers, call, KEY, openTestGateway, type TestAgent } from './test-gateway.ts';

const agents: Record<string, TestAgent> = {
  percy: { run: answers('well', { type: 'token', data: { text: 'we' } }) },
};

async function proveItWorks(client: Client, gateway: Awaited<ReturnType<typeof openTestGateway>>) {
  const { payload, events } = await call(client, 'fabric.call', {
    capability: 'work',
    stream: true,
  });
  expect(payload.result.answer).toBe('well');
  expect(events.some(({ type }) => type === 'token')).toBe(true);
  let told = 0;
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    told += 1;
  });
  if (client.getNegotiatedProtocolVersion?.() === '2026-07-28') {
    await client.listen({ toolsListChanged: true });
  }
  await gateway.registry.register(
    manifestSchema.parse({
      agent_id: `late-${crypto.randomUUID().slice(0, 8)}`,
      endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/' },
      capabilities: [{ name: 'come' }],
    }),
  );
  await expect.poll(() => told).toBeGreaterThan(0);
}

describe('connections', () => {
  it.each(['auto', 'legacy'] as const)(
    '[G1][G27] serve a %s client over WebSocket, with events and pushes',
    async (mode) => {
      await using gateway = await openTestGateway(agents);
      const url = `${gateway.url.replace('http', 'ws')}/mcp/ws`;
      const client = await open(new SocketTransport(url, ['mcp', bearer]), mode);
      await proveItWorks(client, gateway);
      await client.close();
    },
  );

  it('are as deep over stdio as the agent is that started this gateway', async () => {
    await using gateway = await openTestGateway(agents);
    for (const [depth, code] of [
      [5, undefined],
      [6, 'RECURSION_LIMIT'],
    ] as const) {
      const transport = new PipeTransport();
      const served = gateway.gateway.serveStdio(transport.toServer, transport.fromServer, depth);
      const client = await open(transport, 'auto');
      const { payload } = await call(client, 'fabric.call', { capability: 'work' });
      expect(payload.error?.code).toBe(code);
      await client.close();
      await served;
    }
  });

  it('[G1] take the key of a WebSocket by header as well', async () => {
    await using gateway = await openTestGateway(agents);
    const url = `${gateway.url.replace('http', 'ws')}/mcp/ws`;
    const headers = { authorization: `Bearer ${KEY}` };
    const transport = new SocketTransport(url, ['mcp'], headers);
    const client = await open(transport, 'auto');
    expect(transport.socket.protocol).toBe('mcp');
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
    await client.close();
  });

  it.each(['auto', 'legacy'] as const)(
    '[G1] serve a %s client over stdio, with pushes',
    async (mode) => {
      await using gateway = await openTestGateway(agents);
      const transport = new PipeTransport();
      const served = gateway.gateway.serveStdio(transport.toServer, transport.fromServer);
      const client = await open(transport, mode);
      await proveItWorks(client, gateway);
      await client.close();
      await served;
    },
  );

  it('answer a bad frame and go on', async () => {
    await using gateway = await openTestGateway(agents);
    const transport = new PipeTransport();
    void gateway.gateway.serveStdio(transport.toServer, transport.fromServer);
    const lines: string[] = [];
    transport.fromServer.on('data', (chunk: Buffer) => lines.push(chunk.toString()));
    transport.toServer.write('this is not JSON\n{"jsonrpc":"2.0","id":3,"method":7}\n');
    await expect.poll(() => lines.join('')).toMatch(/-32700(.|\n)*-32600/);
    const initialize = {
      jsonrpc: '2.0',
      id: 4,
      method: 'initialize',
      params: {
        protocolVersion: '2024-11-05',
        capabilities: {},
        clientInfo: { name: 'x', version: '0' },
      },
    };
    transport.toServer.write(`${JSON.stringify(initialize)}\n`);
    await expect.poll(() => lines.join('')).toContain('"protocolVersion":"2024-11-05"');
    transport.toServer.end();
  });

  it.each([
    ['2025-11-25', true],
    ['2025-06-18', true],
    ['2025-03-26', true],
    ['2024-11-05', false],
  ])(
    '[G1] negotiate %s over HTTP; a session, and so list changes: %s',
    async (protocolVersion, hasSession) => {
      await using gateway = await openTestGateway(agents);
      const response = await fetch(`${gateway.url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${KEY}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '0' } },
        }),
      });
      const text = await response.text();
      const { result } = JSON.parse(text.slice(text.indexOf('{')));
      expect(result).toMatchObject({ protocolVersion, serverInfo: { name: 'starloom' } });
      expect(result.capabilities.tools.listChanged).toBe(hasSession);
      expect(response.headers.has('mcp-session-id')).toBe(hasSession);
    },
  );

  it('finish what is in flight before they close', async () => {
    const release = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const run: TestAgent['run'] = async function* () {
      started.resolve();
      await release.promise;
      yield { type: 'final', data: { answer: 'finished' } };
    };
    await using gateway = await openTestGateway({ percy: { run } });
    const url = `${gateway.url.replace('http', 'ws')}/mcp/ws`;
    const { connect } = await import('./test-gateway.ts');
    const overHttp = await connect(gateway.url);
    const calling = call(overHttp, 'fabric.call', { capability: 'work' });
    await started.promise;
    const closing = gateway.gateway.close();
    await expect(open(new SocketTransport(url, ['mcp', bearer]), 'auto')).rejects.toThrow();
    release.resolve();
    expect((await calling).payload.result.answer).toBe('finished');
    await closing;
  });
});
