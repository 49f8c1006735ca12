import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { beginLogin } from '../src/index.ts';
import { createMcpAdapter } from '../src/mcp/adapter.ts';
import { serveFake } from './fixtures/fake-mcp.ts';
import { serveHttp } from './fixtures/mcp-http-server.ts';
import { json, OauthServer } from './fixtures/oauth-server.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

const PATHS = ['/authorize', '/token', '/register'];

/** An agent of revision 2025-03-26: the paths of its authorization server are its own. */
async function openOldWorld(challenge = 'Bearer') {
  const oauth = await new OauthServer().listen();
  onTestFinished(() => oauth.server.close());
  const agent = await serveFake({});
  onTestFinished(() => agent.close());
  const [serveAgent] = agent.server.listeners('request') as RequestListener[];
  const [serveOauth] = oauth.server.server.listeners('request') as RequestListener[];
  const paths: string[] = [];
  agent.server.removeAllListeners('request');
  agent.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? '', agent.uri);
    paths.push(pathname);
    const [, token = ''] = request.headers.authorization?.split(' ') ?? [];
    if (PATHS.includes(pathname)) return serveOauth?.(request, response);
    if (pathname === '/mcp' && oauth.valid.has(token)) return serveAgent?.(request, response);
    response.setHeader('www-authenticate', challenge.replace('ORIGIN', new URL(agent.uri).origin));
    json(response, pathname === '/mcp' ? 401 : 404, {});
  });
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const placesWith = (options: Readonly<Record<string, unknown>>) => ({
    manifest: exampleManifest({
      endpoint: { transport: 'http', uri: agent.uri, options: { oauth: options } },
    }),
    stateFolder: folder.path,
  });
  const begin = async (options: Readonly<Record<string, unknown>> = {}) => {
    const listen = async () => 'http://127.0.0.1:9/callback';
    const places = placesWith({ grant: 'authorization_code', ...options });
    const login = await beginLogin({ ...places, listen });
    onTestFinished(() => login[Symbol.asyncDispose]());
    return login;
  };
  const open = async (options: Readonly<Record<string, unknown>>) => {
    const adapter = await createMcpAdapter({ ...placesWith(options), log: silentLog });
    onTestFinished(() => adapter.close());
    return adapter;
  };
  return { oauth, agent, paths, begin, open };
}

async function agree(link: string): Promise<URLSearchParams> {
  const { headers } = await fetch(link, { redirect: 'manual' });
  return new URL(headers.get('location') ?? '').searchParams;
}

describe('an mcp agent of revision 2025-03-26 without any metadata', () => {
  it('is called after a login at the usual paths of its origin, with PKCE and for it alone', async () => {
    const { oauth, agent, begin, open } = await openOldWorld();
    const login = await begin();
    const { origin } = new URL(agent.uri);
    const { searchParams, pathname } = new URL(login.link);
    expect([login.issuer, new URL(login.link).origin, pathname]).toEqual([
      origin,
      origin,
      '/authorize',
    ]);
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    expect(searchParams.get('resource')).toBe(agent.uri);
    const answer = await agree(login.link);
    answer.delete('iss');
    await login.finish(answer);
    const adapter = await open({ grant: 'authorization_code' });
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    oauth.valid.clear();
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
    expect(oauth.asked.at(-1)?.params.get('grant_type')).toBe('refresh_token');
  });

  it('is refused an answer that names another issuer', async () => {
    const { begin } = await openOldWorld();
    const login = await begin();
    const answer = await agree(login.link);
    await expect(login.finish(answer)).rejects.toMatchObject({
      code: 'AUTH_DENIED',
      details: { reason: 'authorization_server' },
    });
  });

  it('is not guessed at when the agent names metadata that is not there', async () => {
    const { begin, paths } = await openOldWorld(
      'Bearer resource_metadata="ORIGIN/.well-known/oauth-protected-resource"',
    );
    await expect(begin()).rejects.toMatchObject({
      details: { reason: 'no_authorization_server' },
    });
    expect(paths).not.toContain('/register');
  });

  it('is not guessed at when the manifest names another server', async () => {
    const { begin, paths } = await openOldWorld();
    const other = await serveHttp((_, response) => response.writeHead(404).end());
    onTestFinished(() => other.close());
    const issuer = `http://127.0.0.1:${other.port}`;
    await expect(begin({ issuer })).rejects.toMatchObject({
      details: { reason: 'no_authorization_server', issuer },
    });
    expect(paths.filter((path) => PATHS.includes(path))).toEqual([]);
  });

  it('gets no secret at a path that was guessed', async () => {
    const { open, paths } = await openOldWorld();
    const adapter = await open({ client_id: 'gateway', client_secret: 'a-secret-of-the-client' });
    expect((await failedCall(adapter, 'hello')).details.reason).toBe('no_authorization_server');
    expect(paths).not.toContain('/token');
  });

  it('is not logged in to when nothing is registered there', async () => {
    const { oauth, begin } = await openOldWorld();
    oauth.registers = false;
    await expect(begin()).rejects.toMatchObject({
      code: 'AUTH_DENIED',
      details: { reason: 'registration_refused', status: 404, fix: expect.any(String) },
    });
  });
});
