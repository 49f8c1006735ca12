import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { openCoordinationWorld } from '../coordination-world.ts';
import { KEY } from '../test-gateway.ts';
import { openPipes, openSocket, post, request } from './clients.ts';

const key = { authorization: `Bearer ${KEY}` };
const wrongKey = { authorization: 'Bearer wrong-key-0123456789abcdef' };
const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

async function refusalOf(url: string, path: string, headers: Record<string, string>) {
  const { port } = new URL(url);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest({ port, path, headers }, resolve).on('error', reject).end();
  });
  return { status: response.statusCode, ...JSON.parse(await text(response)) };
}

describe('a refusal of the coordination plane', () => {
  it.each([
    ['a foreign Host', { ...key, host: 'evil.example' }, '/rpc', 403, -32001],
    ['a foreign Origin', { ...key, origin: 'http://evil.example' }, '/rpc', 403, -32001],
    ['a foreign Host of a service', { host: 'evil.example' }, '/memory-locker', 403, -32001],
    ['no such path', key, '/rpc/nowhere', 404, -32602],
    ['a foreign Host of an upgrade', { ...upgrade, host: 'evil.example' }, '/rpc/ws', 403, -32001],
    ['a foreign Origin of an upgrade', { ...upgrade, origin: 'null' }, '/rpc/ws', 403, -32001],
    ['an upgrade without a key', upgrade, '/rpc/ws', 401, -32001],
    ['an upgrade with a wrong key', { ...upgrade, ...wrongKey }, '/rpc/ws', 401, -32001],
    ['an upgrade of no such path', { ...upgrade, ...key }, '/rpc/nowhere', 404, -32602],
  ])('has data.details and a code of the plane: %s', async (_, headers, path, status, code) => {
    await using world = await openCoordinationWorld();
    const refused = await refusalOf(world.url, path, headers);
    expect(refused).toMatchObject({
      status,
      error: { code, data: { ok: false, details: expect.any(String) } },
    });
  });

  it('has the canonical payload and nothing else elsewhere', async () => {
    await using world = await openCoordinationWorld();
    for (const path of ['/mcp', '/nowhere', '/rpcs']) {
      const { error } = await refusalOf(world.url, path, { host: 'evil.example' });
      expect(error).toMatchObject({ code: -32003, data: { ok: false } });
      expect(error.data).not.toHaveProperty('details');
    }
  });

  it.each([
    ['as a value', '{"jsonrpc":"2.0","id":1,"method":"mcp.discover","params":{"n":[-1e400]}}'],
    ['as an id', '{"jsonrpc":"2.0","id":1e400,"method":"mcp.discover"}'],
  ])('meets a number that no double holds, %s, on every transport', async (_, message) => {
    await using world = await openCoordinationWorld();
    using socket = await openSocket(world.url);
    using pipes = openPipes(world);
    socket.send(message);
    pipes.send(message);
    const response = await post(world.url, message);
    expect(response.status).toBe(400);
    await expect.poll(() => [...socket.received, ...pipes.received].length).toBe(2);
    for (const answer of [await response.json(), ...socket.received, ...pipes.received]) {
      expect(answer).toMatchObject({
        id: null,
        error: { code: -32700, data: { error: { details: { reason: 'not_json' } } } },
      });
    }
  });

  it.each([
    ['as a value', '{"jsonrpc":"2.0","id":1,"method":"mcp.discover","params":9007199254740993}', 1],
    ['as an id', '{"jsonrpc":"2.0","id":9007199254740993,"method":"mcp.discover"}', null],
  ])('refuses a whole number that a double would change, %s', async (_, message, id) => {
    await using world = await openCoordinationWorld();
    using socket = await openSocket(world.url);
    socket.send(message);
    const response = await post(world.url, message);
    await expect.poll(() => socket.received).toHaveLength(1);
    for (const answer of [await response.json(), ...socket.received]) {
      expect(answer).toMatchObject({ id, error: { code: -32600 } });
      expect(answer.error.data.details).toMatch(/9007199254740993.*string/);
    }
  });

  it('answers a message it cannot take under its id, where it has one', async () => {
    await using world = await openCoordinationWorld();
    using socket = await openSocket(world.url);
    const deep = `${'['.repeat(70)}${']'.repeat(70)}`;
    const message = `{"jsonrpc":"2.0","id":5,"method":"mcp.discover","params":${deep}}`;
    socket.send(message);
    const response = await post(world.url, message);
    await expect.poll(() => socket.received).toHaveLength(1);
    for (const answer of [await response.json(), ...socket.received]) {
      expect(answer).toMatchObject({ id: 5, error: { code: -32600 } });
    }
  });

  it('says which methods there are, and that a body must not be compressed', async () => {
    await using world = await openCoordinationWorld();
    const { status, headers } = await fetch(`${world.url}/rpc`, { headers: key });
    expect({ status, allow: headers.get('allow') }).toEqual({ status: 405, allow: 'POST' });
    const compressed = await fetch(`${world.url}/rpc`, {
      method: 'POST',
      headers: { ...key, 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: '{}',
    });
    expect(compressed.status).toBe(415);
  });

  it('leaves numbers at the edge of a double alone', async () => {
    await using world = await openCoordinationWorld();
    await world.act('session_manager.create', { session_id: 's', agent_id: 'a', mode: 'cas' });
    const update = { session_id: 's', agent_id: 'a', update: { n: Number.MAX_VALUE, m: 2 ** 60 } };
    const response = await post(world.url, request(1, 'context_coordinator.update', update));
    expect(await response.json()).toHaveProperty('result');
  });
});
