import { Buffer } from 'node:buffer';
import { silentLog } from '@starloom/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  revoke,
  rotateSigningKey,
  SigningKeys,
  signStructuredPassport,
  suspendGrant,
} from '../src/index.ts';
import { mintFor, openTokenWorld, type TokenWorld } from './support/token-world.ts';

const TYPE = { typ: 'passport+jwt' };
const HEADER = 'x-agent-passport';
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a passport', () => {
  it('[G12] lets its bearer act for its principal, within what it says', async () => {
    await using world = await openTokenWorld();
    const token = await world.passport();
    const caller = await world.authenticate(HEADER, token);
    expect(caller).toMatchObject({
      id: 'ada/desk',
      mode: 'passport',
      tier: 'org',
      scopes: ['agent:planner', 'agent:coder', 'capability:files/read', 'toolset:coordination'],
      keyId: world.kid,
      delegation: { principalId: 'ada', delegateId: 'desk', depth: 0, maxDepth: 5 },
    });
    expect(await world.authenticate(HEADER, token)).toBe(caller);
  });

  it('[G12] is taken as the JSON object of the protocol, signed over its RFC 8785 form', async () => {
    await using world = await openTokenWorld();
    const claims = world.passportClaims() as never;
    const text = signStructuredPassport(claims, world.keys);
    const passport = JSON.parse(text);
    expect(passport).toMatchObject({
      principal_id: 'ada',
      delegation: { scopes: ['toolset:coordination'] },
      expires_at: expect.stringMatching(/Z$/),
      key_id: world.kid,
    });
    const shuffled = Object.fromEntries(Object.entries(passport).reverse());
    for (const form of [text, JSON.stringify(shuffled), JSON.stringify(passport, null, 1)]) {
      const flat = form.replaceAll('\n', ' ');
      expect(await world.authenticate(HEADER, flat)).toMatchObject({
        id: 'ada/desk',
        mode: 'passport',
      });
    }
    for (const [name, value] of [
      ['principal_id', 'eve'],
      ['tier', 'local'],
      ['expires_at', new Date(world.clock.now() + 7_200_000).toISOString()],
      ['delegation', { ...passport.delegation, capabilities: ['*/*'] }],
      ['signature', `${passport.signature.slice(0, -4)}AAAA`],
    ]) {
      const forged = JSON.stringify({ ...passport, [name]: value });
      await expect(world.authenticate(HEADER, forged)).rejects.toMatchObject({
        details: { reason: 'bad_signature' },
      });
    }
    const other = JSON.stringify({ ...passport, key_id: 'another' });
    await expect(world.authenticate(HEADER, other)).rejects.toMatchObject({
      details: { reason: 'unknown_signer' },
    });
    const twice = text.replace('{', '{"principal_id":"eve",');
    await expect(world.authenticate(HEADER, twice)).rejects.toMatchObject({
      details: { reason: 'malformed' },
    });
    for (const broken of ['{}', '{"a":', '[]', '{"version":2}']) {
      await expect(world.authenticate(HEADER, broken)).rejects.toMatchObject({
        code: 'AUTH_DENIED',
      });
    }
  });

  it.each([
    ['its principal', 'principal', 'ada'],
    ['its delegate', 'delegate', 'desk'],
  ] as const)('is refused once %s is revoked, and a new one is not', async (_, kind, id) => {
    await using world = await openTokenWorld();
    const token = await world.passport();
    const caller = await world.authenticate(HEADER, token);
    const epoch = await revoke(world.folder, kind, id, world.clock.now());
    await expect.poll(() => world.identity.authenticator.isCurrent(caller)).toBe(false);
    await expect(world.authenticate(HEADER, token)).rejects.toMatchObject({
      details: { reason: 'revoked' },
    });
    const fresh = await world.passport({ epoch });
    expect((await world.authenticate(HEADER, fresh)).id).toBe('ada/desk');
  });

  it('is refused while its grant is suspended', async () => {
    await using world = await openTokenWorld();
    const token = await world.passport();
    const { delegation } = await world.authenticate(HEADER, token);
    const grant = delegation?.mandateId ?? '';
    const reason = () =>
      world.authenticate(HEADER, token).then(
        () => 'none',
        (error) => error.details.reason,
      );
    await suspendGrant(world.folder, grant, true);
    await expect.poll(reason).toBe('suspended');
    await suspendGrant(world.folder, grant, false);
    await expect.poll(reason).toBe('none');
  });

  it('ends by time, also where it was verified before', async () => {
    await using world = await openTokenWorld();
    const token = await world.passport({ lifeMs: 600_000 });
    const caller = await world.authenticate(HEADER, token);
    world.clock.advance(600_000);
    expect(world.identity.authenticator.isCurrent(caller)).toBe(false);
    await expect(world.authenticate(HEADER, token)).rejects.toMatchObject({
      details: { reason: 'expired' },
    });
  });
});

describe('signing keys', () => {
  it('are published before they are used, and accepted until the last token has expired', async () => {
    await using world = await openTokenWorld();
    const before = await world.passport({ lifeMs: 24 * 3_600_000 });
    const { kid } = await rotateSigningKey(world.folder, { now: world.clock.now() });
    await expect.poll(() => world.identity.jwks().keys.length).toBe(2);
    const kidOf = (token: string) =>
      JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;
    expect(kidOf((await mintFor(world.identity, 'coder')).token)).toBe(world.kid);
    world.clock.advance(331_000);
    expect(kidOf((await mintFor(world.identity, 'coder')).token)).toBe(kid);
    expect((await world.authenticate(HEADER, before)).id).toBe('ada/desk');
    world.clock.advance(24 * 3_600_000 + 61_000);
    expect(world.identity.jwks().keys.map((key) => key.kid)).toEqual([kid]);
  });

  it('that were stolen are replaced at once, with all that they signed', async () => {
    await using world = await openTokenWorld();
    const token = await world.passport();
    const caller = await world.authenticate(HEADER, token);
    await rotateSigningKey(world.folder, { now: world.clock.now(), atOnce: true });
    await expect.poll(() => world.identity.jwks().keys[0]?.kid).not.toBe(world.kid);
    expect(world.identity.authenticator.isCurrent(caller)).toBe(false);
    await expect(world.authenticate(HEADER, token)).rejects.toMatchObject({
      details: { reason: 'unknown_signer' },
    });
  });
});

describe('must be rejected as a passport, where callers without credentials are let in too:', () => {
  let world: TokenWorld;
  beforeAll(async () => {
    world = await openTokenWorld();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const at = (seconds: number) => Math.floor(world.clock.now() / 1000) + seconds;
  const signed = (changes: Record<string, unknown>, header: Record<string, unknown> = TYPE) =>
    world.sign(JSON.stringify(world.passportClaims(changes)), header);
  const unsigned = (header: object) => `${encode(header)}.${encode(world.passportClaims())}.AAAA`;

  it.each<[name: string, reason: string, make: () => Promise<string> | string]>([
    ['alg none', 'malformed', () => unsigned({ alg: 'none', ...TYPE, kid: world.kid })],
    ['alg HS256', 'malformed', () => unsigned({ alg: 'HS256', ...TYPE, kid: world.kid })],
    ['alg EdDSA', 'malformed', () => signed({}, { ...TYPE, alg: 'EdDSA' })],
    ['no typ', 'malformed', () => signed({}, {})],
    ['typ JWT', 'wrong_type', () => signed({}, { typ: 'JWT' })],
    ['a mandate', 'wrong_type', async () => (await mintFor(world.identity, 'coder')).token],
    ['crit', 'malformed', () => unsigned({ alg: 'Ed25519', ...TYPE, kid: 'x', crit: ['x'], x: 1 })],
    ['jku', 'malformed', () => signed({}, { ...TYPE, jku: 'https://evil.example/jwks' })],
    ['x5u', 'malformed', () => signed({}, { ...TYPE, x5u: 'https://evil.example/x' })],
    ['jwk', 'malformed', () => signed({}, { ...TYPE, jwk: { kty: 'OKP' } })],
    ['an unknown kid', 'unknown_signer', () => signed({}, { ...TYPE, kid: 'other' })],
    ['no kid', 'malformed', () => signed({}, { ...TYPE, kid: undefined })],
    ['another issuer', 'wrong_issuer', () => signed({ iss: 'starloom:other' })],
    ['another audience', 'wrong_audience', () => signed({ aud: 'starloom:other' })],
    ['a list of audiences', 'bad_claims', () => signed({ aud: [world.keys.issuer] })],
    ['no exp', 'bad_claims', () => signed({ exp: undefined })],
    ['exp as text', 'bad_claims', () => signed({ exp: '4102444800' })],
    ['exp in the past', 'expired', () => signed({ iat: at(-99), nbf: at(-99), exp: at(-31) })],
    ['nbf in the future', 'not_yet_valid', () => signed({ nbf: at(121) })],
    ['iat in the future', 'not_yet_valid', () => signed({ iat: at(121) })],
    ['iat too old', 'lives_too_long', () => signed({ iat: at(-86_500), exp: at(60) })],
    ['nbf too old', 'lives_too_long', () => signed({ nbf: at(-90_000) })],
    ['a life of two days', 'lives_too_long', () => signed({ exp: at(172_800) })],
    ['exp before iat', 'bad_claims', () => signed({ exp: at(-1), iat: at(0) })],
    ['sub = prn without the flag', 'bad_claims', () => signed({ sub: 'ada' })],
    ['the flag without sub = prn', 'bad_claims', () => signed({ slf: true })],
    ['a bound key without a proof', 'bound_to_key', () => signed({ cnf: { jkt: 'x' } })],
    ['a claim nobody knows', 'bad_claims', () => signed({ admin: true })],
    ['another version', 'bad_claims', () => signed({ ver: 2 })],
    ['no principal', 'bad_claims', () => signed({ prn: '' })],
    ['a tier nobody knows', 'bad_claims', () => signed({ tier: 'root' })],
    ['100 capabilities', 'bad_claims', () => signed({ cap: Array(100).fill('a/b') })],
    ['more than 8 KiB', 'malformed', () => signed({ cap: Array(60).fill('x'.repeat(190)) })],
    [
      'a claim twice',
      'malformed',
      () => world.sign(JSON.stringify(world.passportClaims()).replace('{', '{"prn":"eve",'), TYPE),
    ],
    ['a payload that is no JSON', 'malformed', () => world.sign('hello', TYPE)],
    ['a payload that is a list', 'malformed', () => world.sign('[]', TYPE)],
    ['a payload that is no UTF-8', 'malformed', () => world.sign(Buffer.from([0xff, 0xfe]), TYPE)],
    ['a changed signature', 'bad_signature', async () => flip(await world.passport(), -5)],
    ['a changed payload', 'bad_signature', async () => swapPayload(await world.passport(), world)],
    ['no signature', 'malformed', async () => (await world.passport()).replace(/[^.]*$/, '')],
    ['another spelling', 'malformed', async () => `${await world.passport()}=`],
    ['two parts', 'malformed', async () => (await world.passport()).split('.', 2).join('.')],
    ['four parts', 'malformed', async () => `${await world.passport()}.AAAA`],
    ['spaces inside', 'malformed', async () => (await world.passport()).replace('.', ' .')],
    ['an empty header', 'malformed', () => ''],
  ])('%s (%s)', async (_, reason, make) => {
    const token = await make();
    const refusal = await world.authenticate(HEADER, token).then(
      (caller) => expect.fail(`let in as ${caller.id}`),
      (error) => error,
    );
    expect(refusal).toMatchObject({ code: 'AUTH_DENIED', details: { reason } });
    expect(refusal.details.fix).toBeTypeOf('string');
    if (token !== '') expect(JSON.stringify(refusal.toPayload(null))).not.toContain(token);
  });

  it('a passport as a key, beside a key, and in the URL', async () => {
    const token = await world.passport();
    const { authenticator } = world.identity;
    const cases: [string, Record<string, string>, string][] = [
      ['unknown_key', { authorization: `Bearer ${token}` }, '/mcp'],
      ['several_credentials', { authorization: 'Bearer x', [HEADER]: token }, '/mcp'],
      ['several_credentials', { 'x-agent-mandate': token, [HEADER]: token }, '/mcp'],
      ['credential_in_url', {}, `/mcp?x-agent-passport=${token}`],
      ['credential_in_url', {}, `/mcp?note=${token}`],
    ];
    for (const [reason, headers, url] of cases) {
      expect(() => authenticator.authenticate({ transport: 'http', headers, url })).toThrow(
        expect.objectContaining({ details: expect.objectContaining({ reason }) }),
      );
    }
    const twice = { transport: 'http', headers: { [HEADER]: [token, token] }, url: '/' } as const;
    expect(() => authenticator.authenticate(twice)).toThrow(/two headers/);
  });
});

function flip(token: string, at: number): string {
  const before = token.at(at);
  return `${token.slice(0, at)}${before === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
}

function swapPayload(token: string, world: TokenWorld): string {
  const [header, , signature] = token.split('.');
  return [header, encode(world.passportClaims({ prn: 'eve' })), signature].join('.');
}

describe('a clock that is behind the signing key', () => {
  const openKeys = ({ folder, clock }: TokenWorld) =>
    SigningKeys.open({ folder, clock, log: silentLog });

  it('works up to two minutes: at the start, for new mandates and for tokens made before', async () => {
    await using world = await openTokenWorld();
    const passport = await world.passport();
    world.clock.advance(-119_000);
    const person = await world.authenticate(HEADER, passport);
    const { token } = await mintFor(world.identity, 'coder', { principal: person });
    await world.authenticate('x-agent-mandate', token);
    const again = await openKeys(world);
    expect(again.currentKid).toBe(world.kid);
    await again.close();
  });

  it('is named by the one error beyond that, at the start and for a mandate', async () => {
    await using world = await openTokenWorld();
    world.clock.advance(-121_000);
    const behind = {
      code: 'OVERLOADED',
      message: expect.stringContaining('clock'),
      details: { reason: 'clock_behind', fix: expect.stringContaining('clock') },
    };
    await expect(openKeys(world)).rejects.toMatchObject(behind);
    await expect(mintFor(world.identity, 'coder')).rejects.toMatchObject(behind);
  });
});
