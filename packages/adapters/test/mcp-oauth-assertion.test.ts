import { execFileSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { temporaryFolder } from '@starloom/testkit';
import { SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveHttp } from './fixtures/mcp-http-server.ts';
import { json } from './fixtures/oauth-server.ts';
import { serveOauthWorld } from './fixtures/oauth-world.ts';
import { openMcpHttp } from './fixtures/open-mcp.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

const SECONDS = 1000;

function createJwt(subject: string, typ = 'JWT', life = 60): Promise<string> {
  const expires = Math.floor(Date.now() / SECONDS) + life;
  return new SignJWT({ sub: subject })
    .setProtectedHeader({ alg: 'HS256', typ })
    .setExpirationTime(expires)
    .sign(new Uint8Array(32));
}

async function openAssertionWorld(change: Readonly<Record<string, unknown>> = {}) {
  const { oauth, agent } = await serveOauthWorld();
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const file = join(folder.path, 'workload.jwt');
  const { issuer } = oauth;
  const options = { grant: 'jwt_bearer', assertion_file: file, issuer, ...change };
  const adapter = await openMcpHttp(agent.uri, { oauth: options });
  return { oauth, agent, adapter, file };
}

describe('an mcp agent that trusts the JWT of a workload', () => {
  it('is called with a token for the JWT in the file', async () => {
    const { oauth, agent, adapter, file } = await openAssertionWorld({ scope: 'tools' });
    const jwt = await createJwt('workload');
    await writeFile(file, `${jwt}\n`);
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    expect(Object.fromEntries(oauth.asked[0]?.params ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: jwt,
      scope: 'tools',
      resource: agent.uri,
    });
  });

  it('names its client where the manifest has one', async () => {
    const { oauth, adapter, file } = await openAssertionWorld({ client_id: 'gateway' });
    await writeFile(file, await createJwt('workload'));
    await runCall(adapter, 'hello');
    expect(oauth.asked[0]?.params.get('client_id')).toBe('gateway');
  });

  it('gets its next token with the JWT that the platform has written meanwhile', async () => {
    const { oauth, adapter, file } = await openAssertionWorld();
    const [first, second] = [await createJwt('first'), await createJwt('second')];
    await writeFile(file, first);
    await runCall(adapter, 'hello');
    await writeFile(file, second);
    oauth.valid.clear();
    await runCall(adapter, 'again');
    expect(oauth.asked.map(({ params }) => params.get('assertion'))).toEqual([first, second]);
  });

  it.each<[what: string, reason: string, write: (file: string) => Promise<unknown> | unknown]>([
    ['is missing', 'assertion_missing', () => {}],
    ['is a folder', 'assertion_missing', (file) => mkdir(file)],
    ['is a pipe', 'assertion_missing', (file) => execFileSync('mkfifo', [file])],
    ['is too large', 'assertion_missing', (file) => writeFile(file, `a.${'b'.repeat(20_000)}.c`)],
    [
      'holds no JWT',
      'assertion_invalid',
      (file) => writeFile(file, 'root:x:0:0:root:/root:/bin/sh'),
    ],
    ['only looks like a JWT', 'assertion_invalid', (file) => writeFile(file, 'a.b.c')],
    [
      'has expired',
      'assertion_expired',
      async (file) => writeFile(file, await createJwt('workload', 'JWT', -1)),
    ],
  ])('sends nothing when the file %s, and does not name it', async (_, reason, write) => {
    const { oauth, adapter, file } = await openAssertionWorld();
    await write(file);
    const error = await failedCall(adapter, 'hello');
    expect(error).toMatchObject({
      code: 'AUTH_DENIED',
      details: { reason, sent: false, fix: expect.any(String) },
    });
    expect(JSON.stringify([error.message, error.details])).not.toContain(file);
    expect(oauth.asked).toEqual([]);
  });

  it('has the JWT sent to no server that the manifest does not name', async () => {
    const { oauth, adapter, file } = await openAssertionWorld({ issuer: undefined });
    await writeFile(file, await createJwt('workload'));
    expect((await failedCall(adapter, 'hello')).details.reason).toBe('foreign_issuer');
    expect(oauth.server.requests).toEqual([]);
  });

  it('asks once, and by no other grant, when the server refuses the JWT', async () => {
    const { oauth, adapter, file } = await openAssertionWorld();
    const jwt = await createJwt('workload');
    await writeFile(file, jwt);
    oauth.answer = (response) => json(response, 400, { error: 'invalid_grant' });
    const error = await failedCall(adapter, 'hello');
    expect(error.details).toMatchObject({ reason: 'token_refused', oauth_error: 'invalid_grant' });
    expect(JSON.stringify([error.message, error.details])).not.toContain(jwt);
    expect(oauth.asked).toHaveLength(1);
  });
});

describe('an mcp agent that trusts the identity provider of a company', () => {
  async function openCompany() {
    const exchanged: { params: URLSearchParams; authorization: string | undefined }[] = [];
    const grant = await createJwt('ada', 'oauth-id-jag+jwt');
    const provider = {
      answer: (response: ServerResponse) =>
        json(response, 200, {
          access_token: grant,
          issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
          token_type: 'N_A',
        }),
    };
    const server = await serveHttp(async (request, response) => {
      const { authorization } = request.headers;
      exchanged.push({ params: new URLSearchParams(await text(request)), authorization });
      provider.answer(response);
    });
    onTestFinished(() => server.close());
    const world = await openAssertionWorld({
      client_id: 'gateway',
      client_secret: 'a-secret-of-the-client',
      idp_token_endpoint: `http://127.0.0.1:${server.port}/token`,
      idp_client_id: 'gateway-at-company',
      idp_client_secret: 'a-secret-at-the-company',
    });
    const idToken = await createJwt('ada');
    await writeFile(world.file, idToken);
    return { ...world, exchanged, grant, provider, idToken };
  }

  it('is called with a token for what the provider gives for the ID token', async () => {
    const { oauth, agent, adapter, exchanged, grant, idToken } = await openCompany();
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    const [exchange] = exchanged;
    expect(Object.fromEntries(exchange?.params ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      subject_token: idToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      audience: oauth.issuer,
      resource: agent.uri,
    });
    const basic = (name: string, secret: string) =>
      `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
    expect(exchange?.authorization).toBe(basic('gateway-at-company', 'a-secret-at-the-company'));
    const [asked] = oauth.asked;
    expect(asked?.params.get('assertion')).toBe(grant);
    expect(asked?.params.has('subject_token')).toBe(false);
    expect(asked?.authorization).toBe(basic('gateway', 'a-secret-of-the-client'));
  });

  it('is not called when the provider refuses', async () => {
    const { oauth, adapter, provider, idToken } = await openCompany();
    provider.answer = (response) =>
      json(response, 400, { error: 'access_denied', error_description: 'not in the group' });
    const error = await failedCall(adapter, 'hello');
    expect(error).toMatchObject({
      code: 'AUTH_DENIED',
      details: { oauth_error: 'access_denied', fix: expect.stringContaining('identity provider') },
    });
    const shown = JSON.stringify([error.message, error.details]);
    expect(shown).not.toContain(idToken);
    expect(shown).not.toContain('not in the group');
    expect(oauth.asked).toEqual([]);
  });

  it.each<[what: string, token: (idToken: string) => string]>([
    ['the ID token itself', (idToken) => idToken],
    ['an opaque token', () => 'opaque'],
  ])('gets nothing for %s in place of a grant', async (_, token) => {
    const { oauth, adapter, provider, idToken } = await openCompany();
    provider.answer = (response) =>
      json(response, 200, { access_token: token(idToken), token_type: 'N_A' });
    expect((await failedCall(adapter, 'hello')).details.reason).toBe('bad_grant');
    expect(oauth.asked).toEqual([]);
  });

  it('has the exchange made again for the next token', async () => {
    const { oauth, adapter, exchanged, file } = await openCompany();
    await runCall(adapter, 'hello');
    oauth.valid.clear();
    await rm(file);
    await failedCall(adapter, 'again');
    expect(exchanged).toHaveLength(1);
    await writeFile(file, await createJwt('ada'));
    await runCall(adapter, 'once more');
    expect(exchanged).toHaveLength(2);
  });
});
