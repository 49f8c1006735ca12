import { FabricError, silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { createMcpAdapter } from '../src/mcp/adapter.ts';
import { json } from './fixtures/oauth-server.ts';
import { openOauthWorld } from './fixtures/oauth-world.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

const MiB = 1_048_576;

describe('an mcp agent that wants tokens, with client credentials', () => {
  it('is called with a token that was made for it', async () => {
    const { oauth, agent, adapter } = await openOauthWorld({ scope: 'tools' });
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    const [asked] = oauth.asked;
    expect(Object.fromEntries(asked?.params ?? [])).toEqual({
      grant_type: 'client_credentials',
      scope: 'tools',
      resource: agent.uri,
    });
    expect(oauth.valid).toContain(agent.received[0]?.http.headers.authorization?.slice(7));
  });

  it('asks for one token, however many calls begin at once', async () => {
    const { oauth, adapter } = await openOauthWorld();
    await Promise.all(Array.from({ length: 20 }, (_, n) => runCall(adapter, `task ${n}`)));
    expect(oauth.asked).toHaveLength(1);
  });

  it('renews a token that the agent no longer takes, once for all calls, and calls again', async () => {
    const { oauth, agent, adapter } = await openOauthWorld();
    await runCall(adapter, 'first');
    oauth.valid.clear();
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, n) => runCall(adapter, `task ${n}`)),
    );
    expect(results.map(({ result }) => result?.answer)).toEqual(
      Array.from({ length: 10 }, (_, n) => `task ${n}`),
    );
    expect(oauth.asked).toHaveLength(2);
    const calls = agent.received.filter(({ method }) => method === 'tools/call');
    expect(calls).toHaveLength(11);
  });

  it('renews a token before it expires', async () => {
    const { oauth, adapter } = await openOauthWorld();
    oauth.expiresIn = 0;
    await runCall(adapter, 'one');
    const before = oauth.asked.length;
    await runCall(adapter, 'two');
    expect(oauth.asked.length).toBeGreaterThan(before);
  });

  it('does not ask for a token with every call when the agent refuses all of them', async () => {
    const { oauth, adapter } = await openOauthWorld();
    oauth.answer = (response) =>
      json(response, 200, { access_token: 'not-taken', token_type: 'Bearer' });
    for (const task of ['one', 'two', 'three']) {
      expect(await failedCall(adapter, task)).toMatchObject({
        code: 'AUTH_DENIED',
        details: { sent: false },
      });
    }
    expect(oauth.asked).toHaveLength(1);
  });

  it('says that the credentials are wrong, and shows neither them nor the words of the server', async () => {
    const { adapter } = await openOauthWorld({ client_secret: 'another-secret' });
    const error = await failedCall(adapter, 'hello');
    expect(error).toMatchObject({
      code: 'AUTH_DENIED',
      details: {
        reason: 'token_refused',
        oauth_error: 'invalid_client',
        sent: false,
        fix: expect.stringContaining('client_secret'),
      },
    });
    const shown = JSON.stringify([error.message, error.details, String(error.cause)]);
    expect(shown).not.toMatch(/another-secret|it-is-wrong/);
  });

  it('sends the secret to no server that the manifest does not name', async () => {
    const { oauth, adapter } = await openOauthWorld({ issuer: undefined });
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'AUTH_DENIED',
      details: { reason: 'foreign_issuer', issuer: oauth.issuer },
    });
    expect(oauth.server.requests).toEqual([]);
  });

  it('refuses an agent that names another server than the manifest', async () => {
    const { oauth, adapter } = await openOauthWorld(
      {},
      { metadata: (resource) => ({ resource, authorization_servers: ['https://evil.example'] }) },
    );
    expect((await failedCall(adapter, 'hello')).details).toMatchObject({
      reason: 'foreign_issuer',
      issuer: 'https://evil.example',
    });
    expect(oauth.asked).toEqual([]);
  });

  it.each<[what: string, reason: string, change: Record<string, unknown>]>([
    ['says to be another issuer', 'authorization_server', { issuer: 'https://other.example' }],
    [
      'wants tokens asked for without encryption',
      'insecure_endpoint',
      { token_endpoint: 'http://tokens.example/token' },
    ],
  ])('asks no server for a token that %s', async (_, reason, change) => {
    const { oauth, adapter } = await openOauthWorld();
    oauth.change = (metadata) => ({ ...metadata, ...change });
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'AUTH_DENIED',
      details: { reason },
    });
    expect(oauth.asked).toEqual([]);
  });

  it('does not reach into the private network for a token', async () => {
    const { oauth, adapter } = await openOauthWorld();
    oauth.change = (metadata) => ({ ...metadata, token_endpoint: 'https://169.254.169.254/token' });
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'POLICY_DENIED',
      details: { sent: false },
    });
  });

  it('refuses metadata about another resource', async () => {
    const { oauth, adapter } = await openOauthWorld(
      {},
      { metadata: () => ({ resource: 'https://bank.example/mcp', authorization_servers: [] }) },
    );
    expect((await failedCall(adapter, 'hello')).details.reason).toBe('resource_mismatch');
    expect(oauth.asked).toEqual([]);
  });

  it('ends in time when the authorization server is silent', async () => {
    const { oauth, adapter } = await openOauthWorld({ timeout_ms: 200 });
    oauth.answer = () => {};
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'authorization_server_away', sent: false },
    });
    oauth.answer = undefined;
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it('reads no endless answer of the authorization server', async () => {
    const { oauth, adapter } = await openOauthWorld();
    oauth.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`{"access_token": "${'x'.repeat(MiB)}"}`);
    };
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'answer_too_large', sent: false },
    });
  });

  it.each([
    ['that no header can carry', { access_token: 'a\r\nx-admin: 1', token_type: 'Bearer' }],
    ['of another kind', { access_token: 'abc', token_type: 'DPoP' }],
  ])('uses no token %s', async (_, tokens) => {
    const { oauth, agent, adapter } = await openOauthWorld();
    oauth.answer = (response) => json(response, 200, tokens);
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'bad_token', sent: false },
    });
    expect(agent.received).toEqual([]);
  });

  it('follows the address in the refusal when there is nothing at the well-known place', async () => {
    const { oauth, agent, adapter } = await openOauthWorld();
    const [handle] = agent.server.listeners('request') as ((...args: unknown[]) => void)[];
    agent.server.removeAllListeners('request');
    agent.server.on('request', (request, response) => {
      const moved = request.url === '/moved-metadata';
      if (moved) request.url = '/.well-known/oauth-protected-resource/mcp';
      else if (request.url?.startsWith('/.well-known/')) return json(response, 404, {});
      const setHeader = response.setHeader.bind(response);
      response.setHeader = (name: string, value: string) =>
        setHeader(name, value.replace(/"http.*"/, `"${new URL('/moved-metadata', agent.uri)}"`));
      handle?.(request, response);
    });
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    expect(oauth.asked[0]?.params.get('resource')).toBe(agent.uri);
  });

  it('is degraded, not offline, while there is no token', async () => {
    const { adapter } = await openOauthWorld({ client_secret: 'another-secret' });
    const health = await adapter.health({ signal: AbortSignal.timeout(20_000), log: silentLog });
    expect(health.status).toBe('degraded');
  });

  it.each([
    [{ headers: { Authorization: 'Bearer x' } }, { client_id: 'a', client_secret: 'b' }],
    [{}, { client_id: 'a' }],
  ])('refuses a manifest that contradicts itself', async (endpoint, oauth) => {
    const manifest = exampleManifest({
      endpoint: {
        transport: 'http',
        uri: 'http://127.0.0.1:1/mcp',
        ...endpoint,
        options: { oauth },
      },
    });
    const open = async () => await createMcpAdapter({ manifest, log: silentLog });
    await expect(open()).rejects.toSatisfy(
      (error) => FabricError.is(error) && error.code === 'BAD_INPUT',
    );
  });
});
