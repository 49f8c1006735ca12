import { Buffer } from 'node:buffer';
import { createHmac } from 'node:crypto';
import { ManualClock } from '@starloom/core/testing';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createAuthenticator,
  createPskVerifier,
  OauthVerifier,
  type Principal,
} from '../src/index.ts';
import { makeSigner, startIssuer, type TokenChange } from './support/issuer.ts';

const RESOURCE = 'https://gateway.example';
const KEY = 'a-shared-key-0123456789abcdef';
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

async function openWorld(change: Record<string, unknown> = {}) {
  const clock = new ManualClock();
  const issuer = await startIssuer(() => clock.now(), `${RESOURCE}/mcp`);
  const lines: unknown[] = [];
  const note = (...line: unknown[]) => void lines.push(line);
  const log = { trace: note, debug: note, info: note, warn: note, error: note, fatal: note };
  const oauth = new OauthVerifier({
    resource: RESOURCE,
    issuers: [
      {
        issuer: issuer.issuer,
        algorithms: ['ES256', 'RS256'],
        types: ['at+jwt', 'jwt'],
        principal_claim: 'sub',
        tier: 'org',
        scopes: { agents: ['toolset:agents'], notes: ['toolset:coordination', 'agent:notes'] },
        ...change,
      },
    ],
    clock,
    log: log as never,
  });
  onTestFinished(async () => {
    await oauth.close();
    await issuer[Symbol.asyncDispose]();
  });
  const psk = createPskVerifier([
    { key_id: 'k', key: KEY, principal: 'ci', tier: 'org', scopes: ['*'] },
  ]);
  const authenticator = createAuthenticator({
    psk,
    oauth,
    anonymous: true,
    isCurrent: (principal: Principal) => oauth.isCurrent(principal),
  });
  const authenticate = async (token: string) =>
    await authenticator.authenticate({
      transport: 'http',
      headers: { authorization: `Bearer ${token}` },
    });
  return { clock, issuer, oauth, authenticator, authenticate, lines };
}

const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'accepted',
    ({ code, details }) => `${code}: ${details.reason}`,
  );

describe('an access token of a configured issuer', () => {
  it('makes its bearer a principal of that issuer, with scopes of ours', async () => {
    const { issuer, authenticate } = await openWorld();
    const token = await issuer.token({ claims: { scope: 'openid agents notes' } });
    const caller = await authenticate(token);
    expect(caller).toMatchObject({
      id: `${issuer.issuer}|ada`,
      mode: 'oauth',
      tier: 'org',
      scopes: ['toolset:agents', 'toolset:coordination', 'agent:notes'],
    });
    expect(await authenticate(token)).toBe(caller);
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
  });

  it.each([
    ['the gateway itself', RESOURCE],
    ['the gateway with a final slash', `${RESOURCE}/`],
    ['the MCP endpoint', `${RESOURCE}/mcp`],
    ['a list of one', [`${RESOURCE}/mcp`]],
  ])('may be for %s', async (_, aud) => {
    const { issuer, authenticate } = await openWorld();
    expect(await authenticate(await issuer.token({ claims: { aud } }))).toMatchObject({
      mode: 'oauth',
    });
  });

  it.each([
    ['scp as a list', { scope: undefined, scp: ['agents'] }, ['toolset:agents']],
    ['scp as a text', { scope: undefined, scp: 'agents notes' }, 3],
    ['a scope that is not mapped', { scope: 'admin __proto__ constructor' }, []],
    ['no scope', { scope: undefined }, []],
  ])('grants only what its scopes map to: %s', async (_, claims, expected) => {
    const { issuer, authenticate } = await openWorld();
    const { scopes } = await authenticate(await issuer.token({ claims }));
    if (typeof expected === 'number') expect(scopes).toHaveLength(expected);
    else expect(scopes).toEqual(expected);
  });

  const MINUTE = 60;
  const at = (offset: number) => Math.floor(new ManualClock().now() / 1000) + offset;
  it.each<[string, TokenChange, string]>([
    ['an algorithm that is not listed', { header: { alg: 'ES384' } }, 'malformed'],
    ['another type', { header: { typ: 'id+jwt' } }, 'wrong_type'],
    ['no type', { header: { typ: undefined } }, 'wrong_type'],
    ['a passport type', { header: { typ: 'passport+jwt' } }, 'wrong_type'],
    ['a mandate type', { header: { typ: 'mandate+jwt' } }, 'wrong_type'],
    ['a critical extension', { header: { crit: ['exp'], exp: 1 } }, 'malformed'],
    ['a jku', { header: { jku: 'https://evil.example/keys' } }, 'malformed'],
    ['an x5u', { header: { x5u: 'https://evil.example/x' } }, 'malformed'],
    ['a key of its own', { header: { jwk: { kty: 'EC' } } }, 'malformed'],
    ['no key id', { header: { kid: undefined } }, 'malformed'],
    ['an unknown key id', { header: { kid: 'other' } }, 'unknown_signer'],
    ['another audience', { claims: { aud: 'https://other.example' } }, 'wrong_audience'],
    ['an audience that begins alike', { claims: { aud: `${RESOURCE}.evil` } }, 'wrong_audience'],
    ['two audiences', { claims: { aud: [RESOURCE, 'https://b.example'] } }, 'wrong_audience'],
    ['an empty list of audiences', { claims: { aud: [] } }, 'wrong_audience'],
    ['no audience', { claims: { aud: undefined } }, 'bad_claims'],
    ['no expiry', { claims: { exp: undefined } }, 'bad_claims'],
    ['an expiry that is a text', { claims: { exp: '9999999999' } }, 'bad_claims'],
    ['an expiry in the past', { claims: { iat: at(-600), exp: at(-31) } }, 'expired'],
    ['an expiry before its issue', { claims: { exp: at(-1) } }, 'bad_claims'],
    ['a beginning in the future', { claims: { nbf: at(31) } }, 'not_yet_valid'],
    ['an issue in the future', { claims: { iat: at(31) } }, 'not_yet_valid'],
    ['no time of issue', { claims: { iat: undefined } }, 'bad_claims'],
    ['a life over a day', { claims: { exp: at(24 * 60 * MINUTE + 1) } }, 'lives_too_long'],
    ['an issue long ago', { claims: { iat: at(-25 * 60 * MINUTE) } }, 'lives_too_long'],
    ['no subject', { claims: { sub: undefined } }, 'bad_claims'],
    ['an empty subject', { claims: { sub: '' } }, 'bad_claims'],
    ['a subject that is no text', { claims: { sub: { a: 1 } } }, 'bad_claims'],
    ['a subject that is too long', { claims: { sub: 'x'.repeat(300) } }, 'bad_claims'],
    ['a nonce, as ID tokens have', { claims: { nonce: 'n' } }, 'wrong_type'],
    ['a key for DPoP', { claims: { cnf: { jkt: 'x' } } }, 'bound_to_key'],
    ['a certificate that was not shown', { claims: { cnf: { 'x5t#S256': 'x' } } }, 'bound_to_key'],
    ['more than 8 KiB', { claims: { filler: 'x'.repeat(8_000) } }, 'malformed'],
  ])('is refused with %s', async (_, change, reason) => {
    const { issuer, authenticate } = await openWorld();
    const alg = String(change.header?.alg ?? 'ES256');
    const signer = alg === 'ES256' ? issuer.signer : await makeSigner('first', alg);
    const token = await issuer.token({ ...change, signer });
    expect(await reasonOf(authenticate(token))).toBe(`AUTH_DENIED: ${reason}`);
  });

  it('is refused with a signature of another key, or with its text changed', async () => {
    const { issuer, authenticate } = await openWorld();
    const forged = await issuer.token({ signer: await makeSigner('first') });
    expect(await reasonOf(authenticate(forged))).toBe('AUTH_DENIED: bad_signature');
    const [header, payload = '', signature] = (await issuer.token()).split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const changed = [header, encode({ ...claims, sub: 'eve' }), signature].join('.');
    expect(await reasonOf(authenticate(changed))).toBe('AUTH_DENIED: bad_signature');
  });

  it.each(['none', 'None', 'HS256', 'HS384', 'HS512'])('is refused with alg %s', async (alg) => {
    const { issuer, authenticate } = await openWorld();
    const [, payload] = (await issuer.token()).split('.');
    const body = `${encode({ alg, typ: 'at+jwt', kid: 'first' })}.${payload}`;
    const secret = JSON.stringify(issuer.signer.jwk);
    const mac = createHmac('sha256', secret).update(body).digest('base64url');
    expect(await reasonOf(authenticate(`${body}.${mac}`))).toBe('AUTH_DENIED: malformed');
    expect(await reasonOf(authenticate(`${body}.`))).toBe('AUTH_DENIED: malformed');
  });

  it('is refused with a claim that stands twice, though its signature is right', async () => {
    const { issuer, authenticate } = await openWorld();
    const { CompactSign } = await import('jose');
    const [, payload = ''] = (await issuer.token()).split('.');
    const text = Buffer.from(payload, 'base64url').toString().replace('{', '{"sub":"eve",');
    const token = await new CompactSign(Buffer.from(text))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'first' })
      .sign(issuer.signer.privateKey);
    expect(await reasonOf(authenticate(token))).toBe('AUTH_DENIED: malformed');
  });

  it('goes on until it expires, and no longer', async () => {
    const { issuer, authenticate, authenticator, clock } = await openWorld();
    const token = await issuer.token();
    const caller = await authenticate(token);
    clock.advance(629_000);
    expect(await authenticate(token)).toBe(caller);
    clock.advance(2_000);
    expect(authenticator.isCurrent(caller)).toBe(false);
    expect(await reasonOf(authenticate(token))).toBe('AUTH_DENIED: expired');
  });

  it('is checked for the audience of the configuration, where one is named', async () => {
    const { issuer, authenticate } = await openWorld({ audience: 'api://starloom' });
    expect(await reasonOf(authenticate(await issuer.token()))).toBe('AUTH_DENIED: wrong_audience');
    const token = await issuer.token({ claims: { aud: 'api://starloom' } });
    expect(await authenticate(token)).toMatchObject({ mode: 'oauth' });
  });

  it('may lack a type where the configuration says so', async () => {
    const { issuer, authenticate } = await openWorld({ types: ['none'] });
    const token = await issuer.token({ header: { typ: undefined } });
    expect(await authenticate(token)).toMatchObject({ mode: 'oauth' });
  });
});

describe('beside keys', () => {
  it('a bearer that is no token of a configured issuer is a key, and final', async () => {
    const { issuer, authenticate, authenticator } = await openWorld();
    expect(await authenticate(KEY)).toMatchObject({ id: 'ci', mode: 'psk' });
    const foreign = await issuer.token({ claims: { iss: 'https://evil.example' } });
    for (const wrong of [foreign, 'eyJ.a.b', 'eyJ', `${KEY}x`]) {
      expect(await reasonOf(authenticate(wrong))).toBe('AUTH_DENIED: unknown_key');
    }
    expect(issuer.asked).toEqual([]);
    const both = { authorization: `Bearer ${await issuer.token()}`, 'x-agent-passport': 'x' };
    expect(() => authenticator.authenticate({ transport: 'http', headers: both })).toThrow(
      expect.objectContaining({
        details: expect.objectContaining({ reason: 'several_credentials' }),
      }),
    );
  });

  it('a token is taken from the Authorization header alone', async () => {
    const { issuer, authenticator } = await openWorld();
    const token = await issuer.token();
    const protocol = `bearer.${Buffer.from(token).toString('base64url')}`;
    const headers = { 'sec-websocket-protocol': `mcp, ${protocol}` };
    expect(() => authenticator.authenticate({ transport: 'ws', headers })).toThrow();
    const url = `/mcp?access_token=${token}`;
    expect(() => authenticator.authenticate({ transport: 'http', headers: {}, url })).toThrow(
      expect.objectContaining({
        details: expect.objectContaining({ reason: 'credential_in_url' }),
      }),
    );
  });
});

describe('the keys of an issuer', () => {
  it('are read once for many tokens at once', async () => {
    const { issuer, authenticate } = await openWorld();
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, n) => issuer.token({ claims: { sub: `user-${n}` } })),
    );
    await Promise.all(tokens.map(authenticate));
    expect(issuer.asked).toHaveLength(2);
  });

  it('are read again for an unknown key id, once in half a minute however many ask', async () => {
    const { issuer, authenticate, clock } = await openWorld();
    await authenticate(await issuer.token());
    const next = await makeSigner('second');
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, n) => issuer.token({ signer: next, claims: { jti: `${n}` } })),
    );
    clock.advance(30_001);
    const refused = await Promise.all(tokens.map((token) => reasonOf(authenticate(token))));
    expect(new Set(refused)).toEqual(new Set(['AUTH_DENIED: unknown_signer']));
    expect(issuer.asked).toHaveLength(4);
    issuer.published.push(next);
    expect(await reasonOf(authenticate(tokens[0] ?? ''))).toBe('AUTH_DENIED: unknown_signer');
    expect(issuer.asked).toHaveLength(4);
    clock.advance(30_001);
    expect(await reasonOf(authenticate(tokens[0] ?? ''))).toBe('accepted');
    expect(issuer.asked).toHaveLength(6);
  });

  it('go on while the issuer is away; without any the caller is refused, with the reason', async () => {
    const { issuer, authenticate, clock, lines } = await openWorld();
    issuer.answer = (response) => response.writeHead(503).end();
    const token = await issuer.token();
    expect(await reasonOf(authenticate(token))).toBe('AUTH_DENIED: issuer_unavailable');
    expect(await reasonOf(authenticate(token))).toBe('AUTH_DENIED: issuer_unavailable');
    expect(issuer.asked).toHaveLength(1);
    expect(JSON.stringify(lines)).toContain('cannot be read');
    issuer.answer = undefined;
    clock.advance(30_001);
    expect(await reasonOf(authenticate(token))).toBe('accepted');
    issuer.answer = (response) => response.destroy();
    clock.advance(400_000);
    const other = await issuer.token({ claims: { sub: 'bob' } });
    expect(await reasonOf(authenticate(other))).toBe('accepted');
  });

  it('that are withdrawn end what they signed', async () => {
    const { issuer, authenticate, authenticator, clock } = await openWorld();
    const caller = await authenticate(await issuer.token());
    const next = await makeSigner('second');
    issuer.published = [next];
    clock.advance(30_001);
    await authenticate(await issuer.token({ signer: next }));
    expect(authenticator.isCurrent(caller)).toBe(false);
    expect(await reasonOf(authenticate(await issuer.token()))).toBe('AUTH_DENIED: unknown_signer');
  });

  it.each<[string, (document: Record<string, unknown>) => unknown]>([
    ['of another issuer', (document) => ({ ...document, issuer: 'https://evil.example' })],
    [
      'with keys without encryption',
      (document) => ({ ...document, jwks_uri: 'http://10.0.0.1/k' }),
    ],
    [
      'with keys in our network',
      (document) => ({ ...document, jwks_uri: 'https://169.254.169.254/' }),
    ],
    ['that is none', () => []],
  ])('are not read from metadata %s', async (_, metadata) => {
    const { issuer, authenticate } = await openWorld();
    issuer.metadata = metadata;
    const token = await issuer.token();
    expect(await reasonOf(authenticate(token))).toBe('AUTH_DENIED: issuer_unavailable');
    expect(issuer.asked).not.toContain('/keys');
  });

  it('are not read after a redirect, nor beyond their size limit', async () => {
    for (const answer of [
      (response: import('node:http').ServerResponse) =>
        response.writeHead(302, { location: '/keys' }).end(),
      (response: import('node:http').ServerResponse) => response.end('x'.repeat(1_000_000)),
    ]) {
      const { issuer, authenticate } = await openWorld();
      issuer.answer = answer;
      const token = await issuer.token();
      expect(await reasonOf(authenticate(token))).toBe('AUTH_DENIED: issuer_unavailable');
    }
  });

  it('may be at an address of the configuration', async () => {
    const { issuer, authenticate } = await openWorld();
    const named = await openWorld({ issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/keys` });
    await named.authenticate(await issuer.token());
    expect(issuer.asked).toEqual(['/keys']);
    expect(authenticate).toBeDefined();
  });
});

describe('whatever is sent as an access token', () => {
  const SLOTS = ['A', 'b', '.', '-', '0', '', 'AA', '_'];

  it('is refused after any change of its text, and never breaks anything', async () => {
    const { issuer, authenticate } = await openWorld();
    const token = await issuer.token();
    await authenticate(token);
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.constantFrom(...SLOTS), async (at, put) => {
        const index = at % token.length;
        const changed = token.slice(0, index) + put + token.slice(index + 1);
        if (changed === token) return;
        expect(await reasonOf(authenticate(changed))).toMatch(/^AUTH_DENIED: /);
      }),
      { numRuns: 300 },
    );
  });

  it('is refused with headers and claims of any kind, unless they are signed', async () => {
    const { issuer, authenticate } = await openWorld();
    const names = ['alg', 'typ', 'kid', 'crit', 'jku', 'jwk', 'b64', 'iss', 'aud', 'exp', 'sub'];
    const known = ['none', 'HS256', 'ES256', 'at+jwt', 'first', issuer.issuer, RESOURCE];
    const parts = fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(fc.constantFrom(...known), fc.jsonValue()),
    );
    await fc.assert(
      fc.asyncProperty(parts, parts, fc.base64String(), async (header, claims, signature) => {
        const body = encode({ iss: issuer.issuer, ...claims });
        const token = [encode(header), body, signature.replaceAll('=', '')].join('.');
        expect(await reasonOf(authenticate(token))).toMatch(/^AUTH_DENIED: /);
      }),
      { numRuns: 300 },
    );
  });
});
