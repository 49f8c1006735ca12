import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { MemoryAgent } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { openCoordinationWorld } from './coordination-world.ts';
import { KEY, openTestGateway } from './test-gateway.ts';

/** Answers when it is let go. */
function gatedAgent(answer = 'done') {
  const begun = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  const run: MemoryAgent = async function* () {
    begun.resolve();
    await open.promise;
    yield { type: 'final', data: { answer } };
  };
  return { run, begun: begun.promise, open: () => open.resolve() };
}

const callBody = (id = 1) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: {
      name: 'percy.work',
      arguments: {},
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  });
const modern = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'percy.work',
};
const json = {
  authorization: `Bearer ${KEY}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const older = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'percy.work', arguments: {} },
});
const hello = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'x', version: '1' },
  },
});

const post = (url: string, headers: Record<string, string>, body: string) =>
  fetch(url, { method: 'POST', headers: { ...json, ...headers }, body });

/** Reads slowly: nothing before it is asked to. */
async function openSlowly(url: string, path: string, headers: object, body: string) {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  const lines = Object.entries({ ...json, ...headers, 'content-length': body.length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.write(`POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  await once(socket, 'readable');
  return socket;
}

async function restOf(socket: Socket): Promise<string> {
  return await text(socket);
}

describe('a gateway that shuts down', () => {
  it.each([
    ['in the current revision', modern, callBody()],
    ['in an older one', {}, older],
  ])(
    'answers a call over HTTP %s that was accepted, and takes no new one',
    async (_, headers, body) => {
      const agent = gatedAgent();
      const world = await openTestGateway({ percy: agent });
      const answered = post(`${world.url}/mcp`, headers, body);
      await agent.begun;
      const closed = world.gateway.close();
      const ready = await fetch(`${world.url}/readyz`);
      expect(ready.status).toBe(503);
      expect((await post(`${world.url}/mcp`, modern, callBody())).status).toBe(503);
      agent.open();
      const response = await answered;
      expect(await response.text()).toContain('done');
      await closed;
      await world[Symbol.asyncDispose]();
    },
  );

  it('waits until a large answer was read', async () => {
    const agent = gatedAgent('x'.repeat(8_000_000));
    const world = await openTestGateway({ percy: agent });
    const opened = openSlowly(world.url, '/mcp', modern, callBody());
    await agent.begun;
    agent.open();
    const socket = await opened;
    const closed = world.gateway.close();
    const whole = await restOf(socket);
    expect(whole.length).toBeGreaterThan(8_000_000);
    expect(whole).toContain('"resultType":"complete"');
    await closed;
    await world[Symbol.asyncDispose]();
  });

  it('lets a request finish whose body is half sent', async () => {
    const agent = gatedAgent();
    agent.open();
    const world = await openTestGateway({ percy: agent });
    const body = callBody();
    const socket = createConnection(Number(new URL(world.url).port), '127.0.0.1');
    const lines = Object.entries({ ...json, ...modern, 'content-length': body.length });
    const head = lines.map(([name, value]) => `${name}: ${value}`).join('\r\n');
    socket.write(`POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${head}\r\n\r\n${body.slice(0, 10)}`);
    await fetch(`${world.url}/livez`);
    const closed = world.gateway.close();
    socket.write(body.slice(10));
    expect(await restOf(socket)).toContain('done');
    await closed;
    await world[Symbol.asyncDispose]();
  });

  it('answers calls over a WebSocket', async () => {
    const agent = gatedAgent();
    const world = await openTestGateway({ percy: agent });
    const socket = new WebSocket(`${world.url.replace('http', 'ws')}/mcp/ws`, ['mcp'], {
      headers: json,
    });
    const received: string[] = [];
    socket.on('message', (data) => received.push(data.toString()));
    await once(socket, 'open');
    socket.send(hello);
    socket.send(older);
    await agent.begun;
    const gone = once(socket, 'close');
    const closed = world.gateway.close();
    agent.open();
    await gone;
    expect(received.join('\n')).toContain('done');
    await closed;
    await world[Symbol.asyncDispose]();
  });

  it('answers calls over standard input and output', async () => {
    const agent = gatedAgent();
    const world = await openTestGateway({ percy: agent });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = world.gateway.serveStdio(input, output);
    input.write(`${hello}\n${older}\n`);
    await agent.begun;
    const closed = world.gateway.close();
    agent.open();
    await closed;
    output.end();
    expect(await text(output)).toContain('done');
    await served;
    await world[Symbol.asyncDispose]();
  });

  it('answers calls over standard input and output after the input has ended', async () => {
    const agent = gatedAgent();
    await using world = await openTestGateway({ percy: agent });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = world.gateway.serveStdio(input, output);
    input.end(`${hello}\n${older}\n`);
    await agent.begun;
    agent.open();
    await served;
    output.end();
    expect(await text(output)).toContain('done');
  });

  it('waits until an answer of the coordination plane was read', async () => {
    const world = await openCoordinationWorld();
    await world.act('session_manager.create', { session_id: 's', agent_id: 'me', mode: 'cas' });
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const update = { [key]: 'x'.repeat(900_000) };
      await world.act('context_coordinator.update', { session_id: 's', agent_id: 'me', update });
    }
    const params = { session_id: 's', agent_id: 'me' };
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'context_coordinator.get',
      params,
    });
    const socket = await openSlowly(world.url, '/rpc', { accept: 'application/json' }, body);
    const closed = world.gateway.close();
    const whole = await restOf(socket);
    expect(whole.length).toBeGreaterThan(5_000_000);
    expect(whole.trimEnd()).toMatch(/\}(?:\r\n0)?$/);
    await closed;
    await world[Symbol.asyncDispose]();
  });

  it('waits for no one longer than its deadline', async () => {
    const agent = gatedAgent();
    const world = await openTestGateway({ percy: agent }, { drainMs: 50 });
    const answered = post(`${world.url}/mcp`, modern, callBody()).catch(() => undefined);
    await agent.begun;
    await world.gateway.close();
    agent.open();
    await answered;
    await world[Symbol.asyncDispose]();
  });
});
