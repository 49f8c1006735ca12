import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { silentLog } from '@starloom/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createJwks,
  createKey,
  openIdentity,
  type Principal,
  ReplayMemory,
  revoke,
  revokeKey,
  verifyMandate,
  verifyMandateChain,
} from '../src/index.ts';
import { mintFor, openTokenWorld, type TokenWorld } from './support/token-world.ts';

const PASSPORT = 'x-agent-passport';
const HEADER = 'x-agent-mandate';
const TYPE = { typ: 'mandate+jwt' };

/** Person → planner → coder → files: the mandates, each minted from the one before. */
async function chainOf(world: TokenWorld) {
  const { identity } = world;
  const person = await world.authenticate(PASSPORT, await world.passport());
  const first = await mintFor(identity, 'planner', {
    principal: person,
    mayCall: ['agent:coder', 'capability:files/*'],
  });
  const planner = await world.authenticate(HEADER, first.token);
  const second = await mintFor(identity, 'coder', {
    principal: planner,
    mayCall: ['capability:files/read'],
  });
  const coder = await world.authenticate(HEADER, second.token);
  const third = await mintFor(identity, 'files', { principal: coder, capability: 'read' });
  return { person, planner, coder, first, second, third };
}

const reasonOf = (refused: Promise<unknown>) =>
  refused.then(
    () => 'none',
    (error) => error.details?.reason ?? String(error),
  );

describe('the mint', () => {
  it('[G13] writes sub, prn, mnd, cog, cap and scp, for one agent and a few minutes', async () => {
    await using world = await openTokenWorld();
    const person = await world.authenticate(PASSPORT, await world.passport());
    const { claims } = await mintFor(world.identity, 'coder', { principal: person });
    expect(claims).toMatchObject({
      iss: world.keys.issuer,
      sub: 'desk',
      prn: 'ada',
      mnd: person.delegation?.mandateId,
      cog: expect.stringMatching(/^passport\//),
      aud: 'coder',
      cap: ['coder/work'],
      scp: [],
      dep: 1,
      pah: person.delegation?.tokenHash,
      bud: { calls: 100, ms: 3_600_000 },
      pid: person.delegation?.passportId,
    });
    expect(claims.exp - claims.iat).toBe(120);
  });

  it('narrows at every hop, and names everyone who acted', async () => {
    await using world = await openTokenWorld();
    const { first, second, third } = await chainOf(world);
    expect(first.claims.cap).toEqual(['planner/work', 'coder/*', 'files/read']);
    expect(second.claims.cap).toEqual(['coder/work', 'files/read']);
    expect(third.claims.cap).toEqual(['files/read']);
    expect([first, second, third].map(({ claims }) => claims.dep)).toEqual([1, 2, 3]);
    expect(third.claims).toMatchObject({ sub: 'coder', prn: 'ada', pah: second.hash });
    expect(third.claims.act).toMatchObject({ sub: 'planner', act: { sub: 'desk' } });
    expect(third.claims.exp).toBeLessThanOrEqual(second.claims.exp);
  });

  it('grants less when less is asked for, and refuses what the caller has not got', async () => {
    await using world = await openTokenWorld();
    const principal = await world.authenticate(PASSPORT, await world.passport());
    const mayCall = ['*'];
    const mint = (requested: NonNullable<Parameters<typeof mintFor>[2]>['requested']) =>
      mintFor(world.identity, 'planner', { principal, mayCall, requested });
    const { claims } = await mint({ cap: ['coder/code'], scp: [], ttl_s: 60, calls: 3 });
    expect(claims).toMatchObject({
      cap: ['planner/work', 'coder/code'],
      scp: [],
      bud: { calls: 3 },
    });
    expect(claims.exp - claims.iat).toBe(60);
    for (const requested of [{ cap: ['admin/reset'] }, { scp: ['toolset:jobs'] }]) {
      await expect(mint(requested)).rejects.toMatchObject({
        code: 'POLICY_DENIED',
        details: { reason: 'not_granted', missing: Object.values(requested).flat() },
      });
    }
  });

  it('hands nothing on where the manifest does not say so, and no wildcards to outsiders', async () => {
    await using world = await openTokenWorld();
    const { identity } = world;
    const caps = async (options: Parameters<typeof mintFor>[2]) =>
      (await mintFor(identity, 'helper', options)).claims;
    expect((await caps({})).cap).toEqual(['helper/work']);
    const named = { mayCall: ['capability:coder/code', 'agent:*', 'toolset:coordination'] };
    expect(await caps(named)).toMatchObject({ cap: ['*/*'], scp: ['toolset:coordination'] });
    const partner = await caps({ ...named, tier: 'partner' });
    expect(partner).toMatchObject({ cap: ['helper/work'], scp: [], tier: 'partner' });
    expect(await caps({ originTier: 'public' })).toMatchObject({ tier: 'public' });
    expect((await caps({ mayCall: ['agent:coder'], tier: 'public' })).cap).toEqual([
      'helper/work',
      'coder/*',
    ]);
  });

  it('refuses a caller that may not call the agent at all, and a chain beyond its depth', async () => {
    await using world = await openTokenWorld();
    const { identity } = world;
    const shallow = await world.passport({ maxDepth: 1 });
    const principal = await world.authenticate(PASSPORT, shallow);
    await expect(mintFor(identity, 'stranger', { principal })).rejects.toMatchObject({
      details: { reason: 'not_granted', missing: ['stranger/work'] },
    });
    const mayCall = ['agent:coder'];
    const { token } = await mintFor(identity, 'planner', { principal, mayCall });
    const planner = await world.authenticate(HEADER, token);
    await expect(mintFor(identity, 'coder', { principal: planner })).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      details: { reason: 'too_deep', limit: 1 },
    });
  });
});

describe('a mandate as a credential', () => {
  it('lets its agent act for the same principal, in the same trace, one deeper', async () => {
    await using world = await openTokenWorld();
    const { planner, first } = await chainOf(world);
    expect(planner).toMatchObject({
      id: 'ada/planner',
      mode: 'passport',
      scopes: ['capability:planner/work', 'agent:coder', 'capability:files/read'],
      delegation: {
        delegateId: 'planner',
        depth: 1,
        traceId: first.claims.tid,
        actors: [{ sub: 'desk' }],
      },
    });
  });

  it('is refused when its call is over', async () => {
    await using world = await openTokenWorld();
    const { first, planner } = await chainOf(world);
    first.release();
    expect(world.identity.authenticator.isCurrent(planner)).toBe(false);
    expect(await reasonOf(world.authenticate(HEADER, first.token))).toBe('replayed');
  });

  it('is refused on every gateway of the realm once its grant is revoked', async () => {
    await using world = await openTokenWorld();
    const { clock, folder } = world;
    const other = await openIdentity({
      folder,
      configured: [],
      anonymous: false,
      log: silentLog,
      clock,
    });
    const { first, second } = await chainOf(world);
    const use = (token: string) =>
      reasonOf(
        Promise.resolve(
          other.authenticator.authenticate({ transport: 'http', headers: { [HEADER]: token } }),
        ),
      );
    expect(await use(first.token)).toBe('none');
    await revoke(folder, 'grant', first.claims.mnd, clock.now());
    await expect.poll(() => use(first.token), { interval: 20 }).toBe('revoked');
    await expect.poll(() => use(second.token)).toBe('revoked');
    await expect.poll(() => reasonOf(world.authenticate(HEADER, second.token))).toBe('revoked');
    await other.close();
  });

  it('ends with the key of the caller that it was minted for', async () => {
    await using world = await openTokenWorld();
    const { folder, clock, identity } = world;
    const grant = { keyId: 'ci', principal: 'ci', tier: 'org', scopes: ['*'] } as const;
    const { key } = await createKey(folder, grant, clock.now());
    const bearer = { transport: 'http', headers: { authorization: `Bearer ${key}` } } as const;
    await expect
      .poll(() => reasonOf((async () => identity.authenticator.authenticate(bearer))()))
      .toBe('none');
    const principal = (await identity.authenticator.authenticate(bearer)) as Principal;
    const { token, claims } = await mintFor(identity, 'planner', { principal });
    expect(claims).toMatchObject({ sub: 'ci', prn: 'ci', slf: true, mnd: 'key:ci', cog: 'key/ci' });
    expect((await world.authenticate(HEADER, token)).id).toBe('ci/planner');
    await revokeKey(folder, 'ci', clock.now());
    await expect.poll(() => reasonOf(world.authenticate(HEADER, token))).toBe('revoked');
  });
});

describe('an agent that verifies', () => {
  it('[G12] needs only the public keys, and gets what the envelope says', async () => {
    await using world = await openTokenWorld();
    const { second } = await chainOf(world);
    const jwks = world.identity.jwks();
    const options = { jwks, issuer: jwks.issuer, audience: 'coder', now: world.clock.now() };
    expect(await verifyMandate(second.token, { ...options, capability: 'work' })).toMatchObject({
      delegateId: 'planner',
      principalId: 'ada',
      cap: ['coder/work', 'files/read'],
      depth: 2,
    });
    expect(await reasonOf(verifyMandate(second.token, { ...options, capability: 'reset' }))).toBe(
      'wider_than_parent',
    );
    expect(await reasonOf(verifyMandate(second.token, { ...options, audience: 'files' }))).toBe(
      'wrong_audience',
    );
  });

  it('reads the keys by address once, however many calls come and whatever key they name', async () => {
    await using world = await openTokenWorld();
    let reads = 0;
    const server = createServer((_, response) => {
      reads += 1;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(world.identity.jwks()));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const jwks = createJwks(new URL(`http://127.0.0.1:${port}/.well-known/jwks.json`));
    const { token, claims } = await mintFor(world.identity, 'coder');
    const options = { jwks, issuer: claims.iss, audience: 'coder', now: world.clock.now() };
    await Promise.all(Array.from({ length: 20 }, () => verifyMandate(token, options)));
    expect(reads).toBe(1);
    const forged = await world.sign(JSON.stringify(claims), { ...TYPE, kid: 'other' });
    for (let round = 0; round < 5; round += 1) {
      expect(await reasonOf(verifyMandate(forged, options))).toBe('unknown_signer');
    }
    expect(reads).toBeLessThanOrEqual(2);
    server.close();
    server.closeAllConnections();
  });

  it('takes each mandate once, within bounded memory', async () => {
    await using world = await openTokenWorld();
    const jwks = world.identity.jwks();
    const replay = new ReplayMemory(2);
    const verify = (token: string) => {
      const now = world.clock.now();
      return reasonOf(
        verifyMandate(token, { jwks, issuer: jwks.issuer, audience: 'coder', replay, now }),
      );
    };
    const tokens = [];
    for (let round = 0; round < 3; round += 1) {
      tokens.push((await mintFor(world.identity, 'coder')).token);
    }
    const [a = '', b = '', c = ''] = tokens;
    expect([await verify(a), await verify(a), await verify(b)]).toEqual([
      'none',
      'replayed',
      'none',
    ]);
    expect(await verify(c)).toBe('replayed');
    world.clock.advance(200_000);
    expect(await verify((await mintFor(world.identity, 'coder')).token)).toBe('none');
  });
});

describe('must be rejected as a mandate:', () => {
  let world: TokenWorld;
  let good: Awaited<ReturnType<typeof chainOf>>;
  beforeAll(async () => {
    world = await openTokenWorld();
    good = await chainOf(world);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const at = (seconds: number) => Math.floor(world.clock.now() / 1000) + seconds;
  const signed = (changes: object, header: Record<string, unknown> = TYPE) =>
    world.sign(JSON.stringify({ ...good.second.claims, ...changes }), header);
  const unsigned = (header: object) => `${encode(header)}.${encode(good.second.claims)}.AAAA`;
  const verify = (token: string) => {
    const { issuer } = world.identity;
    const jwks = world.identity.jwks();
    const now = world.clock.now();
    return reasonOf(verifyMandate(token, { jwks, issuer, audience: 'coder', now }));
  };

  it.each<[name: string, reason: string, make: () => Promise<string>]>([
    ['a passport', 'wrong_type', () => world.passport()],
    ['typ JWT', 'wrong_type', () => signed({}, { typ: 'JWT' })],
    ['no typ', 'malformed', () => signed({}, {})],
    ['alg none', 'malformed', async () => unsigned({ alg: 'none', ...TYPE, kid: world.kid })],
    ['alg HS256', 'malformed', async () => unsigned({ alg: 'HS256', ...TYPE, kid: world.kid })],
    [
      'crit',
      'malformed',
      async () => unsigned({ alg: 'Ed25519', ...TYPE, kid: world.kid, crit: ['x'], x: 1 }),
    ],
    ['jku in the header', 'malformed', () => signed({}, { ...TYPE, jku: 'https://evil.example' })],
    ['x5u in the header', 'malformed', () => signed({}, { ...TYPE, x5u: 'https://evil.example' })],
    ['no kid', 'malformed', () => signed({}, { ...TYPE, kid: undefined })],
    [
      'a claim twice',
      'malformed',
      () => world.sign(JSON.stringify(good.second.claims).replace('{', '{"prn":"eve",'), TYPE),
    ],
    ['more than 8 KiB', 'malformed', () => signed({ cap: Array(60).fill('x'.repeat(190)) })],
    ['iat too old', 'lives_too_long', () => signed({ iat: at(-400), nbf: at(-400), exp: at(60) })],
    ['alg EdDSA', 'malformed', () => signed({}, { ...TYPE, alg: 'EdDSA' })],
    ['jwk in the header', 'malformed', () => signed({}, { ...TYPE, jwk: {} })],
    ['an unknown kid', 'unknown_signer', () => signed({}, { ...TYPE, kid: 'other' })],
    ['another issuer', 'wrong_issuer', () => signed({ iss: 'other' })],
    ['another agent', 'wrong_audience', () => signed({ aud: 'files' })],
    ['a list of agents', 'bad_claims', () => signed({ aud: ['coder'] })],
    ['no exp', 'bad_claims', () => signed({ exp: undefined })],
    ['expired', 'expired', () => signed({ iat: at(-120), nbf: at(-120), exp: at(-31) })],
    ['not yet valid', 'not_yet_valid', () => signed({ nbf: at(130), iat: at(130), exp: at(190) })],
    ['a life of ten minutes', 'lives_too_long', () => signed({ exp: at(600) })],
    ['a bound key without a proof', 'bound_to_key', () => signed({ cnf: {} })],
    ['sub = prn without the flag', 'bad_claims', () => signed({ sub: 'ada' })],
    ['deeper than its grant', 'too_deep', () => signed({ mxd: 1 })],
    ['no parent', 'broken_chain', () => signed({ pah: undefined })],
    ['an actor left out', 'broken_chain', () => signed({ act: undefined })],
    [
      'an instance that acts twice',
      'broken_chain',
      () => signed({ act: { sub: 'desk', cog: good.second.claims.cog } }),
    ],
    ['no capability of this agent', 'wider_than_parent', () => signed({ cap: ['files/read'] })],
    ['a budget below nothing', 'bad_claims', () => signed({ bud: { calls: -1, ms: 1 } })],
    ['a claim nobody knows', 'bad_claims', () => signed({ root: true })],
    ['no trace', 'bad_claims', () => signed({ tid: undefined })],
    ['hundred actors', 'broken_chain', () => signed({ act: nested(100) })],
  ])('%s (%s)', async (_, reason, make) => {
    expect(await verify(await make())).toBe(reason);
  });

  it.each<[name: string, reason: string, changes: () => object]>([
    ['nothing changed', 'none', () => ({})],
    ['another parent', 'broken_chain', () => ({ pah: good.third.hash })],
    ['another principal', 'broken_chain', () => ({ prn: 'eve' })],
    ['another grant', 'broken_chain', () => ({ mnd: 'grant:other' })],
    ['another trace', 'broken_chain', () => ({ tid: 'other' })],
    ['another delegate', 'broken_chain', () => ({ sub: 'eve' })],
    ['a capability more', 'wider_than_parent', () => ({ cap: ['coder/work', 'files/write'] })],
    ['a wildcard', 'wider_than_parent', () => ({ cap: ['coder/work', 'files/*'] })],
    ['a scope more', 'wider_than_parent', () => ({ scp: ['toolset:jobs'] })],
    ['a later end', 'wider_than_parent', () => ({ exp: good.first.claims.exp + 1 })],
    ['a later end of its root', 'wider_than_parent', () => ({ rxp: good.first.claims.exp * 2 })],
    ['a deeper limit', 'wider_than_parent', () => ({ mxd: 6 })],
    ['a larger budget', 'wider_than_parent', () => ({ bud: { calls: 101, ms: 1 } })],
    ['no depth in between', 'broken_chain', () => ({ dep: 3, act: nested(2) })],
  ])('a link with %s (%s)', async (_, reason, changes) => {
    const { first, second } = good;
    const isPlain = Object.keys(changes()).length === 0;
    const child = isPlain ? second.token : await signed(changes());
    const { issuer } = world.identity;
    const options = { jwks: world.identity.jwks(), issuer, now: world.clock.now() };
    expect(await reasonOf(verifyMandateChain([first.token, child], options))).toBe(reason);
  });

  it('a chain without its beginning, and one in another order', async () => {
    const { first, second, third } = good;
    const options = {
      jwks: world.identity.jwks(),
      issuer: world.identity.issuer,
      now: world.clock.now(),
    };
    const verifyAll = (...tokens: string[]) => reasonOf(verifyMandateChain(tokens, options));
    expect(await verifyAll(first.token, second.token, third.token)).toBe('none');
    expect(await verifyAll(second.token, third.token)).toBe('broken_chain');
    expect(await verifyAll(first.token, third.token)).toBe('broken_chain');
    expect(await verifyAll()).toBe('broken_chain');
  });
});

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function nested(depth: number): object | undefined {
  if (depth === 0) return undefined;
  return { sub: `s${depth}`, cog: `c${depth}`, act: nested(depth - 1) };
}
