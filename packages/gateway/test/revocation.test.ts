import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { createKey, openIdentity, revokeKey } from '@starloom/identity';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { answers, openTestGateway } from './test-gateway.ts';

const agents = { percy: { run: answers('x') } };
const accept = 'application/json, text/event-stream';

describe('a key that is revoked while the gateway runs', () => {
  let folder: string;
  let key: string;
  let identity: Awaited<ReturnType<typeof openIdentity>>;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starloom-revoked-'));
    const grant = { keyId: 'ci', principal: 'ci', tier: 'org', scopes: ['*'] } as const;
    ({ key } = await createKey(folder, grant, Date.now()));
    identity = await openIdentity({ folder, configured: [], anonymous: false, log: silentLog });
  });

  afterEach(async () => {
    await identity.close();
    await rm(folder, { recursive: true });
  });

  const open = () => openTestGateway(agents, { authenticator: identity.authenticator });
  const revoke = () => revokeKey(folder, 'ci', Date.now());

  it('[G11] is refused at the next request, also on a connection that is open', async () => {
    await using gateway = await open();
    const list = () => post(gateway.url, key, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect((await list()).status).toBe(200);
    await revoke();
    await expect.poll(async () => (await list()).status).toBe(401);
  });

  it('ends WebSockets that were opened with it, and no other', async () => {
    const grant = { keyId: 'other', principal: 'b', tier: 'org', scopes: ['*'] } as const;
    const other = await createKey(folder, grant, Date.now());
    await using gateway = await open();
    const url = `${gateway.url.replace('http', 'ws')}/mcp/ws`;
    const connect = async (secret: string) => {
      const headers = { authorization: `Bearer ${secret}` };
      const socket = new WebSocket(url, ['mcp'], { headers });
      await once(socket, 'open');
      return socket;
    };
    const revoked = await connect(key);
    await expect.poll(() => identity.authenticator.authenticate(bearer(other.key))).toBeDefined();
    const kept = await connect(other.key);
    const closed = once(revoked, 'close');
    await revoke();
    const [code, reason] = await closed;
    expect([code, String(reason)]).toEqual([1008, 'the credential has ended']);
    expect(kept.readyState).toBe(WebSocket.OPEN);
    kept.terminate();
  });

  it('ends the stream of a session, whose next request is refused', async () => {
    await using gateway = await open();
    const clientInfo = { name: 'old', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const hello = await post(gateway.url, key, {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params,
    });
    const session = { 'mcp-session-id': hello.headers.get('mcp-session-id') ?? '' };
    await hello.text();
    const stream = await fetch(`${gateway.url}/mcp`, {
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', ...session },
    });
    expect(stream.status).toBe(200);
    const read = readToEnd(stream);
    await revoke();
    await read;
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    expect((await post(gateway.url, key, ping, session)).status).toBe(401);
  });
});

function bearer(key: string) {
  return { transport: 'http', headers: { authorization: `Bearer ${key}` } } as const;
}

/** Resolves when the stream is over, by its end or by a cut. */
async function readToEnd(response: Response): Promise<void> {
  try {
    for await (const _ of response.body ?? []);
  } catch {
    // Cut off: that is an end too.
  }
}

async function post(url: string, key: string, body: object, more: Record<string, string> = {}) {
  return await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept,
      ...more,
    },
    body: JSON.stringify(body),
  });
}
