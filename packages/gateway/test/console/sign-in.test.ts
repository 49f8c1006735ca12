import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAuthenticator, createPskVerifier, type Principal } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { answers } from '../test-gateway.ts';
import { beginSession, openConsoleWorld, toPage } from './console-world.ts';

const RESOURCE = 'https://gateway.example';

/** An issuer that gives a token for the code `good`, if the verifier fits the challenge. */
async function startIssuer() {
  const asked: URLSearchParams[] = [];
  const world = { challenge: '' };
  const server = createServer(async (request, response) => {
    const json = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/.well-known/openid-configuration') {
      return json(200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
      });
    }
    if (request.url !== '/token') return json(404, {});
    const form = new URLSearchParams(Buffer.concat(await Array.fromAsync(request)).toString());
    asked.push(form);
    const verifier = form.get('code_verifier') ?? '';
    const isGood = form.get('code') === 'good';
    if (!isGood || hash('sha256', verifier, 'base64url') !== world.challenge) {
      return json(400, { error: 'invalid_grant' });
    }
    return json(200, { access_token: 'token-ada', token_type: 'Bearer' });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    asked,
    world,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function openWorld(issuer: string, client_id: string | undefined = 'console') {
  const authenticator = createAuthenticator({
    psk: createPskVerifier([]),
    anonymous: false,
    oauth: {
      isOwn: (text: string) => text.startsWith('token-'),
      verify: (token: string): Principal => ({
        id: token.replace('token-', ''),
        mode: 'oauth',
        tier: 'org',
        scopes: ['agent:*'],
        keyId: null,
        expiresAt: Date.now() + 600_000,
      }),
    },
  });
  const oauth = { resource: RESOURCE, issuers: [{ issuer, scopes: { agents: ['agent:*'] } }] };
  const config = { auth: { oauth }, ...(client_id && { console: { client_id } }) };
  return await openConsoleWorld({ percy: { run: answers('x') } }, { config, authenticator });
}

describe('signing in at an issuer', () => {
  it('opens a session for the person that the issuer names', async () => {
    await using login = await startIssuer();
    await using world = await openWorld(login.issuer);
    const { error } = (await (await beginSession(world.url, {})).json()) as {
      error: { details: { sign_in: unknown } };
    };
    const { issuer } = login;
    expect(error.details.sign_in).toEqual({
      oauth: [{ issuer, name: new URL(issuer).host }],
    });
    const started = await beginSession(world.url, { oauth: { issuer } });
    const { url, proof } = (await started.json()) as { url: string; proof: string };
    const { searchParams } = new URL(url);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'console',
      redirect_uri: `${world.url}/console/`,
      scope: 'agents',
      code_challenge_method: 'S256',
      resource: RESOURCE,
    });
    login.world.challenge = searchParams.get('code_challenge') ?? '';
    const state = searchParams.get('state') ?? '';
    const body = { oauth: { state, code: 'good', proof, iss: issuer } };
    const response = await beginSession(world.url, body);
    expect(response.status).toBe(200);
    const page = await toPage(world.url, response);
    expect(await page.get('session')).toMatchObject({ principal: 'ada', mode: 'oauth' });
    expect((await beginSession(world.url, body)).status).toBe(401);
    expect(login.asked[0]?.get('redirect_uri')).toBe(`${world.url}/console/`);
  });

  it('is refused to another browser, for another issuer, and without a token', async () => {
    await using login = await startIssuer();
    await using world = await openWorld(login.issuer);
    const begin = async () => {
      const started = await beginSession(world.url, { oauth: { issuer: login.issuer } });
      const { url, proof } = (await started.json()) as { url: string; proof: string };
      const state = new URL(url).searchParams.get('state') ?? '';
      return { state, proof, code: 'good' };
    };
    const finish = async (oauth: object) => (await beginSession(world.url, { oauth })).status;
    expect(await finish({ ...(await begin()), proof: 'of-another' })).toBe(401);
    expect(await finish({ ...(await begin()), iss: 'https://evil.example' })).toBe(401);
    expect(await finish({ ...(await begin()), code: 'bad' })).toBe(401);
    expect(await finish({ ...(await begin()), state: 'unknown' })).toBe(401);
    const unknown = await beginSession(world.url, { oauth: { issuer: 'https://evil.example' } });
    expect(unknown.status).toBe(400);
  });

  it('is offered only where the configuration names the page', async () => {
    await using login = await startIssuer();
    await using world = await openWorld(login.issuer, '');
    const { error } = (await (await beginSession(world.url, {})).json()) as {
      error: { details: { sign_in: unknown } };
    };
    expect(error.details.sign_in).toEqual({ oauth: [] });
    const { status } = await beginSession(world.url, { oauth: { issuer: login.issuer } });
    expect(status).toBe(400);
  });
});
