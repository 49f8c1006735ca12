import { createCoordination, openStore } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { createAuthenticator, createPskVerifier, type Principal } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { gatewayConfigSchema, mayUseCoordination } from '../src/index.ts';
import { answers, call, connect, KEY, openTestGateway } from './test-gateway.ts';

const ISSUER = 'https://login.example';
const RESOURCE = 'https://gateway.example';
const oauth = {
  resource: RESOURCE,
  issuers: [
    {
      issuer: ISSUER,
      scopes: {
        agents: ['toolset:agents'],
        'agents.percy': ['agent:percy'],
        notes: ['toolset:coordination'],
        everything: ['*'],
      },
    },
  ],
};
const agents = { percy: { run: answers('from percy') } };

/** Tokens are the scopes that they carry: what makes them genuine is tested elsewhere. */
async function openWorld() {
  const psk = createPskVerifier([
    { key_id: 'k', key: KEY, principal: 'tester', tier: 'org', scopes: ['agent:percy'] },
  ]);
  const verify = (token: string): Principal => ({
    id: `${ISSUER}|ada`,
    mode: 'oauth',
    tier: 'org',
    scopes: token.replace('token-', '').split('+'),
    keyId: null,
  });
  const authenticator = createAuthenticator({
    psk,
    oauth: { isOwn: (text: string) => text.startsWith('token-'), verify },
    anonymous: false,
  });
  const store = await openStore({ kind: 'embedded' }, { log: silentLog });
  const coordination = createCoordination({ store, log: silentLog, mayUse: mayUseCoordination });
  const config = { auth: { oauth } };
  const gateway = await openTestGateway(agents, { config, authenticator, coordination });
  return {
    url: gateway.url,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await coordination.close();
      await store.close();
    },
  };
}

async function post(url: string, path: string, token: string | undefined, body: unknown) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const challenge = response.headers.get('www-authenticate');
  const text = (await response.text()).replace(/^event: .*\ndata: /, '');
  return { status: response.status, challenge, text };
}

const toolCall = (name: string, args = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

describe('metadata of the protected resource (RFC 9728)', () => {
  it.each([
    ['/.well-known/oauth-protected-resource', RESOURCE],
    ['/.well-known/oauth-protected-resource/mcp', `${RESOURCE}/mcp`],
  ])('is at %s, for anyone', async (path, resource) => {
    await using world = await openWorld();
    const response = await fetch(world.url + path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({
      resource,
      authorization_servers: [ISSUER],
      scopes_supported: ['agents', 'agents.percy', 'notes', 'everything'],
      bearer_methods_supported: ['header'],
      resource_name: 'Starloom',
    });
  });

  it('is nowhere else, and nowhere at all without issuers', async () => {
    await using world = await openWorld();
    const paths = ['', '/mcp', '/mcp/', '/rpc', 'x', '/../mcp'];
    for (const end of paths.slice(2)) {
      const { status } = await fetch(`${world.url}/.well-known/oauth-protected-resource${end}`);
      expect(status).toBe(401);
    }
    await using plain = await openTestGateway(agents);
    for (const end of paths) {
      const { status } = await fetch(`${plain.url}/.well-known/oauth-protected-resource${end}`);
      expect(status).toBe(401);
    }
  });

  it('has a gateway reached under its public name', async () => {
    const { request } = await import('node:http');
    await using world = await openWorld();
    const { port } = new URL(world.url);
    const statusOf = (host: string) =>
      new Promise((resolve, reject) => {
        request({ port, path: '/livez', headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
    expect(await statusOf('gateway.example')).toBe(200);
    expect(await statusOf('other.example')).toBe(403);
  });
});

describe('a refusal tells OAuth clients how to go on', () => {
  it.each([
    ['/mcp', '/mcp'],
    ['/rpc', ''],
    ['/a2a/percy', ''],
    ['/nowhere', ''],
  ])('without a token at %s', async (path, end) => {
    await using world = await openWorld();
    const { status, challenge } = await post(world.url, path, undefined, toolCall('x'));
    expect(status).toBe(401);
    expect(challenge).toBe(
      `Bearer scope="agents agents.percy", resource_metadata="${RESOURCE}/.well-known/oauth-protected-resource${end}"`,
    );
  });

  it('with a wrong token', async () => {
    await using world = await openWorld();
    const { status, challenge } = await post(world.url, '/mcp', 'eyJ.wrong.token', toolCall('x'));
    expect(status).toBe(401);
    expect(challenge).toMatch(
      /^Bearer error="invalid_token", error_description="The key is not known", scope=/,
    );
  });

  it.each([
    ['/mcp', 'session.list', 'agent:percy', 'agents.percy notes'],
    ['/mcp', 'session_list', 'toolset:agents', 'agents notes'],
    ['/mcp', 'fabric.call', 'toolset:coordination', 'notes agents'],
    ['/mcp', 'fabric.agent.list', '', 'agents'],
    ['/rpc', 'session_manager.list', 'agent:percy', 'agents.percy notes'],
    ['/session-manager', 'session_manager.list', '', 'notes'],
  ])(
    'at %s with %s and only "%s": 403 with all scopes that it needs',
    async (path, name, held, scope) => {
      await using world = await openWorld();
      const body =
        path === '/mcp' ? toolCall(name) : { jsonrpc: '2.0', id: 1, method: name, params: {} };
      const { status, challenge, text } = await post(world.url, path, `token-${held}`, body);
      expect(status).toBe(403);
      expect(challenge).toContain(
        `Bearer error="insufficient_scope", error_description="The access token lacks a scope", scope="${scope}", resource_metadata="${RESOURCE}/`,
      );
      expect(JSON.parse(text).error.data.error).toMatchObject({
        code: 'POLICY_DENIED',
        details: { reason: 'insufficient_scope', scope },
      });
    },
  );

  it('for toolsets alone: other things look unknown, also to OAuth callers', async () => {
    await using world = await openWorld();
    for (const name of ['percy.work', 'no-such.tool']) {
      const called = await post(world.url, '/mcp', 'token-toolset:coordination', toolCall(name));
      expect(called.status).toBe(200);
      expect(called.challenge).toBeNull();
      expect(JSON.parse(called.text).error).toMatchObject({ code: -32602 });
    }
    const key = await post(world.url, '/mcp', KEY, toolCall('session.list'));
    expect(key.status).toBe(200);
    expect(JSON.parse(key.text).error.data.error.details.reason).toBe('unknown_tool');
  });

  it('and a token with the scope is served', async () => {
    await using world = await openWorld();
    const authorization = 'Bearer token-toolset:agents+toolset:coordination';
    await using client = await connect(world.url, 'auto', { authorization });
    const { payload } = await call(client, 'fabric.call', {
      agent_id: 'percy',
      capability: 'work',
    });
    expect(payload.result.answer).toBe('from percy');
    expect((await call(client, 'session.list', { agent_id: 'a' })).result.isError).toBeFalsy();
  });
});

describe('auth.oauth', () => {
  const [issuer] = oauth.issuers;
  const withIssuer = (change: object) => ({ ...oauth, issuers: [{ ...issuer, ...change }] });
  it.each([
    ['a resource without encryption', { ...oauth, resource: 'http://gateway.example' }],
    ['the MCP endpoint as resource', { ...oauth, resource: `${RESOURCE}/mcp` }],
    ['a resource with a query', { ...oauth, resource: `${RESOURCE}/?a=b` }],
    ['no issuer', { ...oauth, issuers: [] }],
    ['an issuer twice', { ...oauth, issuers: [issuer, issuer] }],
    ['an issuer without encryption', withIssuer({ issuer: 'http://login.example' })],
    ['keys without encryption', withIssuer({ jwks_uri: 'http://login.example/keys' })],
    ['the algorithm none', withIssuer({ algorithms: ['none'] })],
    ['a shared secret', withIssuer({ algorithms: ['HS256'] })],
    ['no scopes', withIssuer({ scopes: {} })],
    ['a scope of no known kind', withIssuer({ scopes: { a: ['everything'] } })],
  ])('is refused with %s', (_, auth) => {
    expect(gatewayConfigSchema.safeParse({ auth: { oauth: auth } }).success).toBe(false);
    expect(gatewayConfigSchema.safeParse({ auth: { oauth } }).success).toBe(true);
  });
});
