import { createKey, revoke, revokeKey, rotateSigningKey, suspendGrant } from '@starloom/identity';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRealmWorld } from './realm-world.ts';

const HOUR_MS = 3_600_000;

describe('revocations of gateways that share a store', () => {
  let world: Awaited<ReturnType<typeof openRealmWorld>>;

  beforeEach(async () => {
    world = await openRealmWorld();
  });

  afterEach(() => world[Symbol.asyncDispose]());

  const now = () => world.clock.now();
  const entries = async () => [...(await world.store.read('realm:revocations')).entries.keys()];
  const grantOf = (passport: string) =>
    JSON.parse(Buffer.from(passport.split('.')[1] ?? '', 'base64url').toString()).mnd as string;

  it('[G12] are refused by all of them, and what is made afterwards is accepted by all', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const before = await here.passport('ada');
    expect(await there.tryWith('passport', before)).toBe('ok');
    await revoke(here.folder, 'principal', 'ada', now());
    await expect.poll(() => there.tryWith('passport', before)).toBe('revoked');
    expect(await there.tryWith('passport', await there.passport('ada'))).toBe('ok');
    expect(await here.tryWith('passport', await there.passport('ada'))).toBe('ok');
    expect(await there.tryWith('passport', await here.passport('bob'))).toBe('ok');
  });

  it('of a principal hold for passports that another gateway signed with its own key', async () => {
    const [here, there] = [await world.join('a'), await world.join('b', 'its own')];
    const passport = await there.passport('ada');
    expect(await there.tryWith('passport', passport)).toBe('ok');
    expect(await here.tryWith('passport', passport)).toBe('unknown_signer');
    await revoke(here.folder, 'principal', 'ada', now());
    await expect.poll(() => there.tryWith('passport', passport)).toBe('revoked');
  });

  it('are known to a gateway that starts later, and stay known to it without the store', async () => {
    const here = await world.join('a');
    const passport = await here.passport('ada');
    await revoke(here.folder, 'grant', grantOf(passport), now());
    await expect.poll(entries).toHaveLength(1);
    const late = await world.join('late');
    expect(await late.tryWith('passport', passport)).toBe('revoked');
    await late.close();
    await world.store.drop('realm:revocations');
    const again = await world.join('late');
    expect(await again.tryWith('passport', passport)).toBe('revoked');
  });

  it('hold where they were made while the store is away, and reach the others when it is back', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const passport = await here.passport('ada');
    here.realm.isAway = true;
    await revoke(here.folder, 'principal', 'ada', now());
    await expect.poll(() => here.tryWith('passport', passport)).toBe('revoked');
    await expect.poll(() => here.warnings.length).toBe(1);
    expect(here.warnings[0]).toContain('revocations are not shared');
    expect(await there.tryWith('passport', passport)).toBe('ok');
    here.realm.isAway = false;
    await expect.poll(() => there.tryWith('passport', passport)).toBe('revoked');
  });

  it('are found by a gateway that the store was away for, and that served meanwhile', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const passport = await here.passport('ada');
    there.realm.isAway = true;
    await revoke(here.folder, 'principal', 'ada', now());
    await expect.poll(entries).toHaveLength(1);
    expect(await there.tryWith('passport', passport)).toBe('ok');
    await expect.poll(() => there.warnings.length).toBe(1);
    there.realm.isAway = false;
    await expect.poll(() => there.tryWith('passport', passport)).toBe('revoked');
  });

  it('hold for what a gateway made that had counted further without knowing of them', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    there.realm.isAway = true;
    for (const other of ['x', 'y', 'z']) await revoke(there.folder, 'delegate', other, now());
    const passport = await there.passport('ada');
    await revoke(here.folder, 'principal', 'ada', now());
    await expect.poll(() => here.tryWith('passport', passport)).toBe('ok');
    there.realm.isAway = false;
    await expect.poll(() => there.tryWith('passport', passport)).toBe('revoked');
    await expect.poll(() => here.tryWith('passport', passport)).toBe('revoked');
  });

  it('of a key hold for that key alone, not for another one of the same name', async () => {
    const grant = { keyId: 'ci', principal: 'ci', tier: 'org', scopes: ['*'] } as const;
    const shared = await createKey(world.seed, grant, now());
    const [here, there] = [await world.join('a'), await world.join('b')];
    const { key: named } = await createKey(there.folder, { ...grant, keyId: 'other' }, now());
    const { key: twin } = await createKey(here.folder, { ...grant, keyId: 'other' }, now());
    await expect.poll(() => there.tryWith('key', named)).toBe('ok');
    await expect.poll(() => here.tryWith('key', twin)).toBe('ok');
    await revokeKey(here.folder, 'other', now());
    await revokeKey(here.folder, 'ci', now());
    await expect.poll(() => there.tryWith('key', shared.key)).toBe('unknown_key');
    expect(await there.tryWith('key', named)).toBe('ok');
  });

  it('of a stolen signing key hold for every copy of it, also one that is the only key', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const stolen = await here.passport('ada');
    expect(await there.tryWith('passport', stolen)).toBe('ok');
    await rotateSigningKey(here.folder, { now: now(), atOnce: true });
    await expect.poll(() => there.tryWith('passport', stolen)).toBe('unknown_signer');
    expect(await there.tryWith('passport', await there.passport('ada'))).toBe('ok');
    const late = await world.join('late');
    expect(await late.tryWith('passport', stolen)).toBe('unknown_signer');
  });

  it('leave alone a signing key that is only replaced', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const passport = await here.passport('ada');
    await rotateSigningKey(here.folder, { now: now() });
    await revoke(here.folder, 'principal', 'bob', now());
    await expect.poll(entries).toEqual(['prn:bob']);
    expect(await there.tryWith('passport', passport)).toBe('ok');
  });

  it('that suspend a grant are taken back by the one that came last', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const passport = await here.passport('ada');
    await suspendGrant(here.folder, grantOf(passport), true, now());
    await expect.poll(() => there.tryWith('passport', passport)).toBe('suspended');
    await suspendGrant(there.folder, grantOf(passport), false, now());
    await expect.poll(() => here.tryWith('passport', passport)).toBe('ok');
  });

  it('are gone from the store when what they are about has expired, and do not come back', async () => {
    const grant = { keyId: 'ci', principal: 'ci', tier: 'org', scopes: [] } as const;
    await createKey(world.seed, { ...grant, expiresAt: now() + HOUR_MS }, now());
    const here = await world.join('a');
    await revokeKey(here.folder, 'ci', now());
    await revoke(here.folder, 'principal', 'ada', now());
    await expect.poll(entries).toHaveLength(2);
    world.clock.advance(25 * HOUR_MS);
    await world.join('late');
    await here.identity.close();
    await world.join('a');
    expect(await entries()).toEqual([]);
  });

  it('that cannot be read are passed over, and written down in the log', async () => {
    const value = { epoch: 'many', at: 'never' };
    const writes = [
      { kind: 'put', key: 'prn:ada', value } as const,
      { kind: 'put', key: 'what', value: 1 } as const,
    ];
    await world.store.commit('realm:revocations', { writes });
    const here = await world.join('a');
    expect(await here.tryWith('passport', await here.passport('ada'))).toBe('ok');
    expect(here.warnings).toHaveLength(2);
  });
});
