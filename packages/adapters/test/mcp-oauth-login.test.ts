import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { beginLogin, endLogin } from '../src/index.ts';
import { createMcpAdapter } from '../src/mcp/adapter.ts';
import { serveOauthWorld } from './fixtures/oauth-world.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';

async function openLoginWorld(client: { readonly client_id?: string } = { client_id: 'gateway' }) {
  const { oauth, agent } = await serveOauthWorld();
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const manifest = exampleManifest({
    endpoint: {
      transport: 'http',
      uri: agent.uri,
      options: {
        oauth: {
          grant: 'authorization_code',
          ...client,
          ...(client.client_id !== undefined && { issuer: oauth.issuer }),
        },
      },
    },
  });
  const open = async () => {
    const adapter = await createMcpAdapter({ manifest, log: silentLog, stateFolder: folder.path });
    onTestFinished(() => adapter.close());
    return adapter;
  };
  const begin = async (scope?: string) => {
    const login = await beginLogin({
      manifest,
      scope,
      stateFolder: folder.path,
      listen: async () => REDIRECT,
    });
    onTestFinished(() => login[Symbol.asyncDispose]());
    return login;
  };
  /** What the browser of the person brings back. */
  const agree = async (link: string) => {
    const { headers } = await fetch(link, { redirect: 'manual' });
    return new URL(headers.get('location') ?? '').searchParams;
  };
  const logIn = async () => {
    const login = await begin();
    await login.finish(await agree(login.link));
  };
  const file = join(folder.path, 'oauth', `${manifest.agent_id}.json`);
  const logOut = () => endLogin({ manifest, stateFolder: folder.path });
  return { oauth, agent, folder: folder.path, file, open, begin, agree, logIn, logOut };
}

describe('an mcp agent that wants a person to log in', () => {
  it('is not called before, and the error names the command', async () => {
    const { agent, open } = await openLoginWorld();
    expect(await failedCall(await open(), 'hello')).toMatchObject({
      code: 'AUTH_DENIED',
      details: {
        reason: 'login_needed',
        sent: false,
        fix: 'run: starloom agents login subject',
      },
    });
    expect(agent.received).toEqual([]);
  });

  it('is called after the login without a restart', async () => {
    const { oauth, agent, open, logIn } = await openLoginWorld();
    const adapter = await open();
    await failedCall(adapter, 'too early');
    await logIn();
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    expect(oauth.asked[0]?.params.get('resource')).toBe(agent.uri);
  });

  it('keeps tokens in a file that only its owner reads', async () => {
    const { folder, file, logIn } = await openLoginWorld();
    await logIn();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'oauth'))).mode & 0o077).toBe(0);
    expect(await readdir(join(folder, 'oauth'))).toEqual(['subject.json']);
  });

  it('renews the login once for all calls and keeps the new tokens', async () => {
    const { oauth, file, open, logIn } = await openLoginWorld();
    await logIn();
    const before = JSON.parse(await readFile(file, 'utf8'));
    const adapter = await open();
    oauth.valid.clear();
    await Promise.all(['a', 'b', 'c', 'd'].map((task) => runCall(adapter, task)));
    expect(oauth.asked.map(({ params }) => params.get('grant_type'))).toEqual([
      'authorization_code',
      'refresh_token',
    ]);
    const after = JSON.parse(await readFile(file, 'utf8'));
    expect(after.refresh_token).not.toBe(before.refresh_token);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('takes what another gateway has renewed instead of renewing again', async () => {
    const { oauth, open, logIn } = await openLoginWorld();
    await logIn();
    const [one, other] = [await open(), await open()];
    await Promise.all([runCall(one, 'a'), runCall(other, 'a')]);
    oauth.valid.clear();
    const results = await Promise.all([runCall(one, 'b'), runCall(other, 'c')]);
    expect(results.map(({ result }) => result?.answer)).toEqual(['b', 'c']);
    expect(oauth.asked).toHaveLength(2);
  });

  it('says loudly that a login is over, asks the server once, and works after the next login', async () => {
    const { oauth, open, logIn } = await openLoginWorld();
    await logIn();
    const adapter = await open();
    await runCall(adapter, 'first');
    oauth.valid.clear();
    oauth.refreshTokens.clear();
    for (const task of ['one', 'two']) {
      expect(await failedCall(adapter, task)).toMatchObject({
        code: 'AUTH_DENIED',
        details: { sent: false, fix: 'run: starloom agents login subject' },
      });
    }
    const refreshes = oauth.asked.filter(
      ({ params }) => params.get('grant_type') === 'refresh_token',
    );
    expect(refreshes).toHaveLength(1);
    await logIn();
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it('does not use tokens that were made for another address', async () => {
    const { file, open, logIn } = await openLoginWorld();
    await logIn();
    const stored = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...stored, uri: 'https://other.example/mcp' }));
    expect((await failedCall(await open(), 'hello')).details.reason).toBe('login_needed');
  });

  it('knows the answer to its own link by the state, and no other', async () => {
    const { begin, agree } = await openLoginWorld();
    const [login, other] = [await begin(), await begin()];
    const answer = await agree(login.link);
    expect(login.isOurs(answer)).toBe(true);
    expect(other.isOurs(answer)).toBe(false);
    expect(login.isOurs(new URLSearchParams())).toBe(false);
  });

  it.each<[what: string, change: (answer: URLSearchParams) => void, reason: string]>([
    [
      'of another issuer',
      (answer) => answer.set('iss', 'https://evil.example'),
      'authorization_server',
    ],
    ['without an issuer', (answer) => answer.delete('iss'), 'authorization_server'],
    ['with a code that was made up', (answer) => answer.set('code', 'x'), 'token_refused'],
    [
      'that says no',
      (answer) => {
        answer.delete('code');
        answer.set('error', 'access_denied');
      },
      'login_refused',
    ],
  ])('takes no answer %s', async (_, change, reason) => {
    const { folder, begin, agree } = await openLoginWorld();
    const login = await begin();
    const answer = await agree(login.link);
    change(answer);
    await expect(login.finish(answer)).rejects.toMatchObject({
      code: 'AUTH_DENIED',
      details: { reason },
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'vscode://x/$(touch pwned)',
    'ftp://127.0.0.1/',
  ])('shows no link that no browser asks a server with: %s', async (authorization_endpoint) => {
    const { oauth, begin } = await openLoginWorld();
    oauth.change = (metadata) => ({ ...metadata, authorization_endpoint });
    await expect(begin()).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:AUTH_DENIED|UPSTREAM_ERROR)$/),
    });
  });

  it('refuses a server without PKCE', async () => {
    const { oauth, begin } = await openLoginWorld();
    oauth.change = ({ code_challenge_methods_supported: _, ...metadata }) => metadata;
    await expect(begin()).rejects.toMatchObject({ details: { reason: 'no_pkce' } });
  });
});

describe('a login without a client in the manifest', () => {
  it('registers the gateway at the server that the agent names, and renews as that client', async () => {
    const { oauth, file, open, logIn } = await openLoginWorld({});
    await logIn();
    expect(oauth.registered).toMatchObject([
      { client_name: 'Starloom', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' },
    ]);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ client_id: 'dynamic-1' });
    const adapter = await open();
    oauth.valid.clear();
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    expect(oauth.asked.at(-1)?.params.get('client_id')).toBe('dynamic-1');
  });

  it('is refused where the server registers no clients', async () => {
    const { oauth, begin } = await openLoginWorld({});
    oauth.registers = false;
    await expect(begin()).rejects.toMatchObject({
      code: 'AUTH_DENIED',
      details: { reason: 'no_client', fix: expect.stringContaining('oauth.client_id') },
    });
  });

  it('asks for the scopes of the person, and for a refresh token where there is one', async () => {
    const { oauth, begin } = await openLoginWorld({});
    oauth.change = (metadata) => ({ ...metadata, scopes_supported: ['offline_access', 'a'] });
    const { link } = await begin('a b');
    expect(new URL(link).searchParams.get('scope')).toBe('a b offline_access');
  });
});

describe('a logout', () => {
  it('revokes both tokens and removes them: the next call needs a login', async () => {
    const { oauth, folder, open, logIn, logOut } = await openLoginWorld();
    await logIn();
    expect(await logOut()).toEqual({ wasLoggedIn: true, isRevoked: true });
    expect(oauth.revoked.map((params) => params.get('token_type_hint'))).toEqual([
      'refresh_token',
      'access_token',
    ]);
    expect(await readdir(join(folder, 'oauth'))).toEqual([]);
    expect(await failedCall(await open(), 'hello')).toMatchObject({
      details: { reason: 'login_needed' },
    });
    expect(await logOut()).toEqual({ wasLoggedIn: false, isRevoked: false });
  });

  it('reaches a gateway that runs, also where the server goes on accepting the token', async () => {
    const { oauth, open, logIn, logOut } = await openLoginWorld();
    await logIn();
    const adapter = await open();
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    oauth.change = ({ revocation_endpoint: _, ...metadata }) => metadata;
    await logOut();
    const next = () =>
      runCall(adapter, 'hello').then(
        () => 'served',
        ({ details }) => details.reason,
      );
    await expect.poll(next).toBe('login_needed');
  });

  it.each<[string, (metadata: Record<string, unknown>) => unknown]>([
    ['cannot revoke', ({ revocation_endpoint: _, ...metadata }) => metadata],
    [
      'names an endpoint without encryption',
      (metadata) => ({ ...metadata, revocation_endpoint: 'http://evil.example/' }),
    ],
    ['is broken', () => 'x'],
  ])('removes the tokens also where the server %s', async (_, change) => {
    const { oauth, folder, logIn, logOut } = await openLoginWorld();
    await logIn();
    oauth.change = change;
    expect(await logOut()).toEqual({ wasLoggedIn: true, isRevoked: false });
    expect(oauth.revoked).toEqual([]);
    expect(await readdir(join(folder, 'oauth'))).toEqual([]);
  });
});
