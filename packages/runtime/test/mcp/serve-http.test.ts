import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createAuthenticator, createPskVerifier, generateKey, hashKey } from '@starloom/identity';
import { defineTool } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openMcpHttp } from '../../src/mcp/server/serve-http.ts';
import { AUTO, openFace } from './fixtures/face-world.ts';

const LIST = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/list',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};

const post = (url: string, headers: Record<string, string> = {}, body: unknown = LIST) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('the HTTP face of an agent', () => {
  it('answers a plain request', async () => {
    await using world = await openFace();
    const response = await post(world.url);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: 1, result: { tools: [] } });
  });

  it.each([
    ['a page of elsewhere', { origin: 'https://evil.example' }],
    ['a page of nowhere', { origin: 'null' }],
  ])('refuses %s', async (_, headers) => {
    await using world = await openFace();
    expect((await post(world.url, headers)).status).toBe(403);
  });

  it('refuses a name that was bent to this machine', async () => {
    await using world = await openFace();
    const status = await new Promise((resolve, reject) => {
      const sent = request(world.url, { method: 'POST', headers: { host: 'evil.example' } });
      sent.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject);
      sent.end();
    });
    expect(status).toBe(403);
  });

  it('has nothing anywhere else', async () => {
    await using world = await openFace();
    const response = await post(world.url.replace('/mcp', '/other'));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { data: { ok: false } } });
  });

  it.each([
    ['what is no JSON', '{', 400],
    ['what is no JSON-RPC', '[1,2]', 400],
    ['a body that is too large', JSON.stringify({ x: 'x'.repeat(5 * 2 ** 20) }), 413],
  ])('refuses %s', async (_, body, status) => {
    await using world = await openFace();
    expect((await post(world.url, {}, body)).status).toBe(status);
    expect((await post(world.url)).status).toBe(200);
  });

  it('lets in who shows a key, where keys are asked for', async () => {
    const key = generateKey();
    const psk = createPskVerifier([
      { key_id: 'ci', key_hash: hashKey(key), principal: 'ci', tier: 'org', scopes: ['*'] },
    ]);
    const authenticator = createAuthenticator({ psk, anonymous: false });
    await using world = await openFace({ authenticator });
    const refused = await post(world.url);
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain('Bearer');
    expect(await refused.json()).toMatchObject({
      error: { data: { error: { code: 'AUTH_DENIED' } } },
    });
    expect((await post(world.url, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await post(world.url, { authorization: `Bearer ${key}` })).status).toBe(200);
  });

  it('serves no client beyond this machine without keys', async () => {
    await using world = await openFace();
    const open = openMcpHttp(world.face, { host: '0.0.0.0', port: 0 });
    await expect(open).rejects.toThrow(
      expect.objectContaining({
        code: 'BAD_INPUT',
        details: expect.objectContaining({ reason: 'no_keys' }),
      }),
    );
  });

  it('ends with the answer to what it was asked, and takes nothing new', async () => {
    const begun = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const slow = defineTool({
      name: 'test:slow',
      description: 'Answers when it may',
      parameters: z.strictObject({}),
      effect: 'read',
      async execute() {
        begun.resolve();
        await release.promise;
        return 'at last';
      },
    });
    await using world = await openFace({
      agent: { mcp: { expose_tools: ['test:slow'] } },
      tools: [slow],
    });
    const http = await openMcpHttp(world.face, { port: 0 });
    const client = new Client({ name: 'test', version: '0' }, AUTO);
    await client.connect(new StreamableHTTPClientTransport(new URL(http.url)));
    const call = client.callTool({ name: 'test:slow', arguments: {} });
    await begun.promise;
    const closed = http.close();
    await expect(post(http.url)).rejects.toThrow();
    release.resolve();
    expect((await call).content).toEqual([{ type: 'text', text: 'at last' }]);
    await closed;
    await client.close();
  });

  it('says that a port is taken', async () => {
    await using world = await openFace();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    await expect(openMcpHttp(world.face, { port })).rejects.toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: 'port_busy' }) }),
    );
    other.close();
  });
});
