import { request } from 'node:http';
import { toRealmStore } from '@starloom/coordination';
import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { createAuthenticator, createPskVerifier, revokeKey } from '@starloom/identity';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { answers, openTestGateway } from '../test-gateway.ts';
import { beginSession, HASHED, openConsoleWorld, signIn, toPage } from './console-world.ts';

const agents = { percy: { run: answers('x') } };
const PATHS = [
  'agents',
  'calls',
  'calls/0123456789abcdef0123456789abcdef',
  'jobs',
  'sessions',
  'audit',
  'usage',
  'approvals',
  'config',
  'session',
  'events',
  'overview',
  'nothing',
  'nothing/at/all',
];

describe('a session of the console', () => {
  it('begins with a bearer credential and says who it is of', async () => {
    await using world = await openConsoleWorld(agents, { keys: { narrow: ['agent:percy'] } });
    const response = await beginSession(world.url, {}, bearer(world.keyOf('narrow')));
    expect(response.status).toBe(200);
    const cookie = response.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^starloom=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/);
    expect(await response.json()).toMatchObject({
      ok: true,
      csrf: expect.stringMatching(/^[\w-]{43}$/),
      principal: 'narrow',
      scopes: ['agent:percy'],
    });
  });

  it('begins with a bearer credential and no body', async () => {
    await using world = await openConsoleWorld(agents);
    const headers = bearer(world.keyOf('admin'));
    const url = `${world.url}/console/api/session`;
    expect((await fetch(url, { method: 'POST', headers })).status).toBe(200);
    const body = 'code=1';
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(415);
  });

  it('begins with a code, which is good once', async () => {
    await using world = await openConsoleWorld(agents);
    const link = await beginSession(world.url, { link: true }, bearer(world.keyOf('admin')));
    const { code } = (await link.json()) as { code: string };
    const first = await beginSession(world.url, { code });
    expect(first.status).toBe(200);
    const page = await toPage(world.url, first);
    expect((await page.get('session')).principal).toBe('admin');
    expect((await beginSession(world.url, { code })).status).toBe(401);
    expect((await beginSession(world.url, { code: 'made-up' })).status).toBe(401);
  });

  it('is good at every gateway of its realm, until one of them ends it', async () => {
    await using stores = new AsyncDisposableStack();
    const store = stores.adopt(new MemoryCoordinationStore(), (one) => one.close());
    const realm = { secret: Buffer.alloc(32, 9), store: toRealmStore(store) };
    await using folder = await temporaryFolder();
    await using here = await openConsoleWorld(agents, { realm });
    const { identity } = here;
    await using there = await openTestGateway(agents, {
      identity,
      authenticator: identity.authenticator,
      realm,
      console: { pageFolder: folder.path, stateFolder: folder.path },
    });
    const begun = await beginSession(here.url, {}, bearer(here.keyOf('admin')));
    const page = await toPage(there.url, begun.clone());
    expect((await page.get('session')).principal).toBe('admin');
    const strange = await page.send('GET', 'session', undefined, { 'x-starloom-csrf': 'other' });
    expect(strange.status).toBe(403);
    expect((await page.send('DELETE', 'session')).status).toBe(200);
    const before = await toPage(here.url, begun);
    await expect
      .poll(async () => (await before.send('GET', 'session')).status, { timeout: 10_000 })
      .toBe(401);
  });

  it('is opened by the code that the gateway makes for a key', async () => {
    await using world = await openConsoleWorld(agents);
    const code = (await world.gateway.createConsoleCode('admin')) ?? '';
    expect((await beginSession(world.url, { code })).status).toBe(200);
    expect(await world.gateway.createConsoleCode('unknown')).toBeUndefined();
  });

  it('needs its cookie at every path, known or not', async () => {
    await using world = await openConsoleWorld(agents);
    const { csrf } = await world.signIn();
    for (const path of PATHS) {
      const plain = await fetch(`${world.url}/console/api/${path}`, {
        headers: { 'x-starloom-csrf': csrf },
      });
      expect([path, plain.status]).toEqual([path, 401]);
      expect(await plain.json()).toMatchObject({ ok: false, error: { code: 'AUTH_DENIED' } });
    }
    expect((await fetch(`${world.url}/console/api`)).status).toBe(401);
    const byKey = await fetch(`${world.url}/console/api/agents`, {
      headers: bearer(world.keyOf('admin')),
    });
    expect(byKey.status).toBe(401);
  });

  it('needs the token of its page at every path, reads too', async () => {
    await using world = await openConsoleWorld(agents);
    const { cookie } = await world.signIn();
    const other = await world.signIn();
    for (const path of PATHS) {
      for (const headers of [{ cookie }, { cookie, 'x-starloom-csrf': other.csrf }]) {
        const response = await fetch(`${world.url}/console/api/${path}`, { headers });
        expect([path, response.status]).toEqual([path, 403]);
      }
    }
  });

  it('refuses other pages, also those of another port of this host', async () => {
    await using world = await openConsoleWorld(agents);
    const page = await world.signIn();
    const own = new URL(world.url).origin;
    expect((await page.send('GET', 'agents', undefined, { origin: own })).status).toBe(200);
    for (const origin of [
      'https://evil.example',
      'http://127.0.0.1:1',
      'http://localhost',
      'null',
    ]) {
      const response = await page.send('GET', 'agents', undefined, { origin });
      expect([origin, response.status]).toEqual([origin, 403]);
      const begun = await beginSession(world.url, {}, { ...bearer(world.keyOf('admin')), origin });
      expect([origin, begun.status]).toEqual([origin, 403]);
    }
    const framed = await rawGet(world.url, { ...headersOf(page), 'sec-fetch-site': 'same-site' });
    expect(framed).toBe(403);
  });

  it('gives another tab of the browser a token of its own', async () => {
    await using world = await openConsoleWorld(agents);
    const first = await world.signIn();
    const headers = { ...bearer(world.keyOf('admin')), cookie: first.cookie };
    const second = await toPage(world.url, await beginSession(world.url, {}, headers));
    expect(second.cookie).toBe(first.cookie);
    expect(second.csrf).not.toBe(first.csrf);
    expect((await first.send('GET', 'agents')).status).toBe(200);
    expect((await second.send('GET', 'agents')).status).toBe(200);
  });

  it('does not go on as another person with the cookie of the first', async () => {
    await using world = await openConsoleWorld(agents, { keys: { other: ['*'] } });
    const first = await world.signIn();
    const headers = { ...bearer(world.keyOf('other')), cookie: first.cookie };
    const second = await toPage(world.url, await beginSession(world.url, {}, headers));
    expect(second.cookie).not.toBe(first.cookie);
    expect((await first.get('session')).principal).toBe('admin');
    expect((await second.get('session')).principal).toBe('other');
  });

  it('ends when it is deleted, with its streams', async () => {
    await using world = await openConsoleWorld(agents);
    const page = await world.signIn();
    const listener = await page.listen();
    expect(listener.status).toBe(200);
    const response = await page.send('DELETE', 'session');
    expect(response.status).toBe(200);
    expect(response.headers.get('set-cookie')).toMatch(/^starloom=; Path=\/; Max-Age=0/);
    await listener.ended;
    expect(listener.lines.at(-1)).toEqual({ type: 'end', reason: 'signed_out' });
    expect((await page.send('GET', 'session')).status).toBe(401);
  });

  it('[G11] ends with the key that opened it, and so do its streams', async () => {
    await using world = await openConsoleWorld(agents, { keys: { ci: ['*'] } });
    const page = await world.signIn('ci');
    const listener = await page.listen();
    await revokeKey(world.identityFolder, 'ci', Date.now());
    await listener.ended;
    expect((await page.send('GET', 'session')).status).toBe(401);
    expect((await beginSession(world.url, {}, bearer(world.keyOf('ci')))).status).toBe(401);
  });

  it('has a cookie that only encrypted connections carry, beyond loopback', async () => {
    const issuers = [{ issuer: 'https://login.example', scopes: { all: ['*'] } }];
    const config = { auth: { oauth: { resource: 'https://gateway.example', issuers } } };
    await using world = await openConsoleWorld(agents, { config });
    const code = (await world.gateway.createConsoleCode('admin')) ?? '';
    const body = JSON.stringify({ code });
    const headers = {
      host: 'gateway.example',
      origin: 'https://gateway.example',
      'content-type': 'application/json',
      'content-length': String(body.length),
    };
    const { hostname, port } = new URL(world.url);
    const cookies = await new Promise<readonly string[] | undefined>((resolve, reject) => {
      const path = '/console/api/session';
      request({ hostname, port, path, method: 'POST', headers }, (response) => {
        response.resume();
        resolve(response.headers['set-cookie']);
      })
        .on('error', reject)
        .end(body);
    });
    expect(cookies).toEqual([
      expect.stringMatching(
        /^__Host-starloom=[\w-]{43}; Path=\/; .*HttpOnly; SameSite=Strict; Secure$/,
      ),
    ]);
  });

  it('ends when the key that opened it has another secret, or less rights at once', async () => {
    const keyed = (key: string, scopes: string[]) =>
      createPskVerifier([{ key_id: 'k', key, principal: 'ada', tier: 'org', scopes }]);
    const keys = { current: keyed('first-key-0123456789', ['*']) };
    const authenticator = {
      ...createAuthenticator({ psk: keys.current, anonymous: false }),
      keys: { find: (id: string) => keys.current.keys?.find(id), list: () => [] },
    };
    await using world = await openConsoleWorld(agents, { authenticator });
    const page = await signIn(world.url, 'first-key-0123456789');
    keys.current = keyed('first-key-0123456789', ['agent:percy']);
    expect((await page.get('session')).rights).toMatchObject({ agents: false, keys: false });
    expect((await page.get('overview')).scope).toBe('own');
    keys.current = keyed('second-key-0123456789', ['*']);
    expect((await page.send('GET', 'session')).status).toBe(401);
  });

  it('outlives a restart of the gateway', async () => {
    await using world = await openConsoleWorld(agents);
    const page = await world.signIn();
    await using again = await reopen(world);
    const headers = { cookie: page.cookie, 'x-starloom-csrf': page.csrf };
    const response = await fetch(`${again.url}/console/api/session`, { headers });
    expect(response.status).toBe(200);
  });

  it('is kept as hashes alone', async () => {
    await using world = await openConsoleWorld(agents);
    const page = await world.signIn();
    const { readFile } = await import('node:fs/promises');
    const text = await readFile(`${world.stateFolder}/console.json`, 'utf8');
    expect(text).not.toContain(page.csrf);
    expect(text).not.toContain(page.cookie.split('=')[1]);
  });

  it('says how to sign in where no credential is shown', async () => {
    await using world = await openConsoleWorld(agents);
    const response = await beginSession(world.url, {});
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      error: { details: { reason: 'console_sign_in', sign_in: { oauth: [] } } },
    });
  });

  it('takes no large body of a visitor', async () => {
    await using world = await openConsoleWorld(agents);
    expect((await beginSession(world.url, { code: 'x'.repeat(10_000) })).status).toBe(413);
  });
});

describe('the page of the console', () => {
  it('is served without a credential, safely', async () => {
    await using world = await openConsoleWorld(agents);
    const response = await fetch(`${world.url}/console/`);
    expect(response.status).toBe(200);
    const policy = response.headers.get('content-security-policy') ?? '';
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      expect(policy).toContain(part);
    }
    expect(policy).not.toContain('unsafe');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(await response.text()).toContain('Starloom');
    const moved = await fetch(`${world.url}/console`, { redirect: 'manual' });
    expect([moved.status, moved.headers.get('location')]).toEqual([308, '/console/']);
  });

  it('sends hashed files compressed and for good', async () => {
    await using world = await openConsoleWorld(agents);
    const response = await fetch(`${world.url}/console/${HASHED}`);
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(response.headers.get('cache-control')).toContain('immutable');
    expect(response.headers.get('content-type')).toContain('text/javascript');
    const plain = await fetch(`${world.url}/console/${HASHED}`, {
      headers: { 'accept-encoding': 'identity' },
    });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(await response.text());
  });

  it('serves its own files and nothing else', async () => {
    await using world = await openConsoleWorld(agents);
    for (const path of [
      '/console/../console.json',
      '/console/..%2fconsole.json',
      '/console/%2e%2e/console.json',
      '/console/page/index.html',
      '/console//etc/passwd',
      '/console/secret.json',
      '/console/nothing',
      '/console/__proto__',
    ]) {
      expect([path, await rawGet(world.url, {}, path)]).toEqual([
        path,
        expect.toSatisfy((status: number) => status === 400 || status === 404),
      ]);
    }
    const posted = await fetch(`${world.url}/console/`, { method: 'POST', body: '{}' });
    expect(posted.status).toBe(405);
  });

  it('says how to build it where it is not built', async () => {
    await using world = await openConsoleWorld(agents, { isBuilt: false });
    const response = await fetch(`${world.url}/console/`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      ok: false,
      error: { details: { fix: expect.stringContaining('build-console') } },
    });
  });

  it('is not there when it is turned off', async () => {
    const config = { console: { enabled: false } };
    await using world = await openConsoleWorld(agents, { config });
    const headers = bearer(world.keyOf('admin'));
    expect((await fetch(`${world.url}/console/`, { headers })).status).toBe(404);
  });
});

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

function headersOf({ cookie, csrf }: Awaited<ReturnType<typeof signIn>>) {
  return { cookie, 'x-starloom-csrf': csrf };
}

/** As it is, without what `fetch` makes of a path and of headers. */
function rawGet(url: string, headers: Record<string, string>, path = '/console/api/agents') {
  const { hostname, port } = new URL(url);
  return new Promise<number>((resolve, reject) => {
    request({ hostname, port, path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

/** Another gateway with the same state folder. */
async function reopen({ identity, stateFolder }: Awaited<ReturnType<typeof openConsoleWorld>>) {
  const { openTestGateway } = await import('../test-gateway.ts');
  return await openTestGateway(agents, {
    authenticator: identity.authenticator,
    identity,
    console: { pageFolder: `${stateFolder}/page`, stateFolder },
  });
}
