import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createKey, revokeKey, rotateSigningKey } from '@starloom/identity';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRealmWorld } from './realm-world.ts';

const GRANT = { keyId: 'ci', principal: 'ci', tier: 'org', scopes: ['*'] } as const;

describe('gateways with one realm key, and state folders of their own', () => {
  let world: Awaited<ReturnType<typeof openRealmWorld>>;

  beforeEach(async () => {
    world = await openRealmWorld({ secret: Buffer.alloc(32, 7) });
  });

  afterEach(() => world[Symbol.asyncDispose]());

  const now = () => world.clock.now();
  const join2 = async () => [await world.join('a', 'its own'), await world.join('b', 'its own')];
  const textsOf = async (name: string) => {
    const { entries } = await world.store.read(`realm:${name}`);
    return [...entries].flatMap(([key, { value }]) => (key === '@' ? [] : [String(value)]));
  };

  it('[G35] accept keys and passports that were made at any of them, without copied files', async () => {
    const [here, there] = (await join2()) as [Member, Member];
    const { key } = await createKey(here.folder, GRANT, now());
    await expect.poll(() => there.tryWith('key', key)).toBe('ok');
    expect(await there.tryWith('passport', await here.passport('ada'))).toBe('ok');
    expect(await here.tryWith('passport', await there.passport('ada'))).toBe('ok');
    await revokeKey(there.folder, 'ci', now());
    await expect.poll(() => here.tryWith('key', key)).toBe('unknown_key');
    const late = await world.join('late', 'its own');
    expect(await late.tryWith('passport', await here.passport('ada'))).toBe('ok');
    expect(await late.tryWith('key', key)).toBe('unknown_key');
    expect(late.identity.issuer).toBe(here.identity.issuer);
  });

  it('sign with a new key of any of them, and withdraw a stolen one at all', async () => {
    const [here, there] = (await join2()) as [Member, Member];
    const stolen = await here.passport('ada');
    await rotateSigningKey(here.folder, { now: now(), atOnce: true });
    await expect.poll(() => there.tryWith('passport', stolen)).toBe('unknown_signer');
    const kids = async ({ identity }: Member) => identity.jwks().keys.map(({ kid }) => kid);
    await expect.poll(() => kids(there)).toEqual(await kids(here));
    expect(await here.tryWith('passport', await there.passport('ada'))).toBe('ok');
  });

  it('keep no secret in the store that can be read there', async () => {
    const [here] = (await join2()) as [Member, Member];
    await createKey(here.folder, GRANT, now());
    await expect.poll(async () => (await textsOf('keys')).length).toBe(1);
    const file = JSON.parse(await readFile(join(here.folder, 'signing-keys.json'), 'utf8'));
    const all = [...(await textsOf('signing')), ...(await textsOf('keys'))].join('\n');
    expect(all).not.toContain(file.keys.at(-1).d);
    expect(all).not.toContain('scopes');
  });

  it('take no key from the store that no gateway of the realm wrote there', async () => {
    const [here, there] = (await join2()) as [Member, Member];
    const { key } = await createKey(here.folder, GRANT, now());
    await expect.poll(() => there.tryWith('key', key)).toBe('ok');
    const forged = await createKey(join(world.root, 'elsewhere'), { ...GRANT, keyId: 'x' }, now());
    const { key_hash } = forged.record;
    const [sealed = ''] = await textsOf('keys');
    for (const value of [forged.record, sealed]) {
      const writes = [{ kind: 'put', key: key_hash, value: value as never } as const];
      await world.store.commit('realm:keys', { writes, event: { keys: [key_hash] } });
      await expect
        .poll(() => there.warnings.filter((text) => text.includes('not of this realm')).length)
        .toBeGreaterThan(0);
      expect(await there.tryWith('key', forged.key)).toBe('unknown_key');
    }
    expect(await there.tryWith('key', key)).toBe('ok');
  });

  it('fill a store again that lost everything', async () => {
    const [here, there] = (await join2()) as [Member, Member];
    const first = await createKey(here.folder, GRANT, now());
    await expect.poll(() => there.tryWith('key', first.key)).toBe('ok');
    for (const name of ['keys', 'signing']) await world.store.drop(`realm:${name}`);
    const { key } = await createKey(there.folder, { ...GRANT, keyId: 'two' }, now());
    await expect.poll(() => here.tryWith('key', key)).toBe('ok');
    const late = await world.join('late', 'its own');
    await expect.poll(() => late.tryWith('key', first.key)).toBe('ok');
  });

  it('go on with their own keys while the store is away, and join when it is back', async () => {
    const here = await world.join('a', 'its own');
    const there = await world.join('b', 'its own', { isAway: true });
    expect(there.warnings.join()).toContain('those of the state folder are used');
    expect(await there.tryWith('passport', await there.passport('ada'))).toBe('ok');
    expect(await there.tryWith('passport', await here.passport('ada'))).toBe('unknown_signer');
    there.realm.isAway = false;
    const passport = await here.passport('ada');
    await expect.poll(() => there.tryWith('passport', passport)).toBe('ok');
    await expect.poll(async () => here.tryWith('passport', await there.passport('ada'))).toBe('ok');
  });

  it('keep the earlier of two keys that were given one name at the same time', async () => {
    const [here, there] = (await join2()) as [Member, Member];
    here.realm.isAway = true;
    const early = await createKey(here.folder, GRANT, now());
    await createKey(there.folder, GRANT, now() + 1_000);
    await expect.poll(async () => (await textsOf('keys')).length).toBe(1);
    here.realm.isAway = false;
    for (const member of [here, there]) {
      await expect.poll(() => member.tryWith('key', early.key)).toBe('ok');
      await expect
        .poll(async () => JSON.parse(await readFile(join(member.folder, 'keys.json'), 'utf8')).keys)
        .toHaveLength(1);
    }
  });
});

type Member = Awaited<ReturnType<Awaited<ReturnType<typeof openRealmWorld>>['join']>>;
