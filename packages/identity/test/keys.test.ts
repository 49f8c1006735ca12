import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import {
  createKey,
  generateKey,
  hashKey,
  KeyRing,
  listKeys,
  openIdentity,
  type Principal,
  type PskKey,
  revokeKey,
  rotateKey,
  stateOf,
} from '../src/index.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const HOUR_MS = 3_600_000;
const CI = { keyId: 'ci', principal: 'ci', tier: 'org', scopes: ['agent:coder'] } as const;

const openRing = (folder: string, configured: PskKey[] = [], clock = new ManualClock()) =>
  KeyRing.open({ folder, configured, clock, log: silentLog, onChange: () => {} });

describe('keys of the state folder', () => {
  it('[G11] are shown once and stored as hashes, for their owner alone', async () => {
    await using folder = await temporaryFolder();
    const { key, record } = await createKey(folder.path, CI, Date.now());
    const file = join(folder.path, 'keys.json');
    const text = await readFile(file, 'utf8');
    expect(text).not.toContain(key);
    expect(text).toContain(hashKey(key));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(record).toMatchObject({ key_id: 'ci', principal: 'ci', scopes: ['agent:coder'] });
    const ring = await openRing(folder.path);
    expect(ring.verify(key)).toMatchObject({ id: 'ci', mode: 'psk', keyId: 'ci', tier: 'org' });
    expect(ring.verify(hashKey(key))).toBeUndefined();
    await ring.close();
  });

  it('two are valid at once while one replaces the other, and never three', async () => {
    await using folder = await temporaryFolder();
    const clock = new ManualClock();
    const ring = await openRing(folder.path, [], clock);
    const first = await createKey(folder.path, CI, clock.now());
    const rotation = { overlapMs: HOUR_MS, now: clock.now() };
    const second = await rotateKey(folder.path, 'ci', rotation);
    expect(second.record).toMatchObject({ key_id: 'ci.2', principal: 'ci', tier: 'org' });
    await expect(rotateKey(folder.path, 'ci', rotation)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'key_not_active' },
    });
    await expect.poll(() => ring.verify(second.key)?.keyId).toBe('ci.2');
    const caller = ring.verify(first.key) as Principal;
    expect(caller.keyId).toBe('ci');
    clock.advance(HOUR_MS);
    expect(ring.verify(first.key)).toBeUndefined();
    expect(ring.isValid(caller)).toBe(false);
    expect(ring.verify(second.key)?.keyId).toBe('ci.2');
    await ring.close();
  });

  it('are refused once they are revoked, without a restart, and their id is not used again', async () => {
    await using folder = await temporaryFolder();
    const { key } = await createKey(folder.path, CI, Date.now());
    const identity = await openIdentity({
      folder: folder.path,
      configured: [],
      anonymous: false,
      log: silentLog,
    });
    const request = {
      transport: 'http',
      headers: { authorization: `Bearer ${key}` },
      connection: {},
    } as const;
    const caller = (await identity.authenticator.authenticate(request)) as Principal;
    let changes = 0;
    identity.authenticator.onChange?.(() => {
      changes += 1;
    });
    await revokeKey(folder.path, 'ci', Date.now());
    await expect.poll(() => identity.authenticator.isCurrent(caller)).toBe(false);
    expect(changes).toBe(1);
    expect(() => identity.authenticator.authenticate(request)).toThrow(
      expect.objectContaining({ code: 'AUTH_DENIED' }),
    );
    await expect(createKey(folder.path, CI, Date.now())).rejects.toMatchObject({
      details: { reason: 'key_exists' },
    });
    await identity.close();
  });

  it('stay as they are when many commands change them at once', async () => {
    await using folder = await temporaryFolder();
    const ids = Array.from({ length: 12 }, (_, index) => `k${index}`);
    await Promise.all(ids.map((keyId) => createKey(folder.path, { ...CI, keyId }, Date.now())));
    const listed = await listKeys(folder.path);
    expect(listed.map(({ key_id }) => key_id).sort()).toEqual([...ids].sort());
    expect(listed.every((record) => stateOf(record, Date.now()) === 'active')).toBe(true);
  });

  it('stop the start when the file is broken or has the id of a configured key', async () => {
    await using folder = await temporaryFolder();
    await createKey(folder.path, CI, Date.now());
    const configured = { key_id: 'ci', key: generateKey(), principal: 'x', scopes: [] };
    await expect(openRing(folder.path, [{ ...configured, tier: 'org' }])).rejects.toMatchObject({
      details: { reason: 'bad_key', key_id: 'ci' },
    });
    await writeFile(join(folder.path, 'keys.json'), '{"version":1,"keys":[{}]}');
    await expect(openRing(folder.path)).rejects.toMatchObject({ details: { reason: 'config' } });
  });

  it('stay known when one is created with the id of a configured key', async () => {
    await using folder = await temporaryFolder();
    const { key } = await createKey(folder.path, CI, Date.now());
    const secret = generateKey();
    const owner = { principal: 'x', tier: 'org', scopes: [] } as const;
    const ring = await openRing(folder.path, [{ key_id: 'fixed', key: secret, ...owner }]);
    const twin = await createKey(folder.path, { ...CI, keyId: 'fixed' }, Date.now());
    const last = await createKey(folder.path, { ...CI, keyId: 'last' }, Date.now());
    await expect.poll(() => ring.verify(last.key)?.keyId).toBe('last');
    expect(ring.verify(twin.key)).toBeUndefined();
    expect([ring.verify(key)?.keyId, ring.verify(secret)?.keyId]).toEqual(['ci', 'fixed']);
    await ring.close();
  });

  it('stay known while the file cannot be read', async () => {
    await using folder = await temporaryFolder();
    const { key } = await createKey(folder.path, CI, Date.now());
    const failures: string[] = [];
    const log = { ...silentLog, error: (_: object, said: string) => void failures.push(said) };
    const ring = await KeyRing.open({
      folder: folder.path,
      configured: [],
      clock: new ManualClock(),
      log: log as typeof silentLog,
      onChange: () => {},
    });
    await writeFile(join(folder.path, 'keys.json'), '{');
    await expect.poll(() => failures.length).toBeGreaterThan(0);
    expect(ring.verify(key)?.id).toBe('ci');
    await ring.close();
  });
});
