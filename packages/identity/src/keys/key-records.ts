// `keys.json`: shared keys that commands created. Only hashes are kept. A key that was revoked keeps its
// line, so that its id is never given to another key.

import { join } from 'node:path';
import { type FabricError, trustTierSchema } from '@starloom/core';
import { z } from 'zod';
import { scopeProblem } from '../authorise.ts';
import { generateKey, hashKey } from '../psk.ts';
import { failure } from '../reasons.ts';
import { changeState, readState, type StateFileOptions } from '../state/state-file.ts';

const keyIdSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
  error: 'expected 1 to 64 letters, digits, ".", "_" and "-"',
});

const scopeSchema = z.string().refine((scope) => scopeProblem(scope) === undefined);

export const keyRecordSchema = z.strictObject({
  key_id: keyIdSchema,
  key_hash: z.string().regex(/^[0-9a-f]{64}$/),
  principal: z.string().min(1).max(256),
  tier: trustTierSchema,
  scopes: z.array(scopeSchema),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
  /** The key that takes its place; until this one expires both are valid. */
  replaced_by: keyIdSchema.nullable(),
});

const keysFileSchema = z.strictObject({
  version: z.literal(1),
  keys: z.array(keyRecordSchema),
});

export type KeyRecord = z.output<typeof keyRecordSchema>;
export type KeysFile = z.output<typeof keysFileSchema>;
export type KeyState = 'active' | 'replaced' | 'expired' | 'revoked';

/** What a new key is made of. */
interface NewKey {
  readonly keyId: string;
  readonly principal: string;
  readonly tier: KeyRecord['tier'];
  readonly scopes: readonly string[];
  readonly expiresAt?: number | undefined;
}

/** A key that was just made: the only time that its secret is seen. */
export interface CreatedKey {
  readonly key: string;
  readonly record: KeyRecord;
}

const EMPTY: KeysFile = { version: 1, keys: [] };

export function keysFile(folder: string): StateFileOptions<KeysFile> {
  return { path: join(folder, 'keys.json'), schema: keysFileSchema, empty: EMPTY };
}

export async function listKeys(folder: string): Promise<readonly KeyRecord[]> {
  return (await readState(keysFile(folder))).keys;
}

export function stateOf(record: KeyRecord, now: number): KeyState {
  if (record.revoked_at !== null) return 'revoked';
  if (record.expires_at !== null && Date.parse(record.expires_at) <= now) return 'expired';
  return record.replaced_by === null ? 'active' : 'replaced';
}

export async function createKey(folder: string, given: NewKey, now: number): Promise<CreatedKey> {
  const created = toCreated(given, now);
  await changeState(keysFile(folder), (file) => {
    assertFree(file, given.keyId);
    return { ...file, keys: [...file.keys, created.record] };
  });
  return created;
}

/** A second key for the same principal; the first one is valid for `overlapMs` more. */
export async function rotateKey(
  folder: string,
  keyId: string,
  { overlapMs, now }: { readonly overlapMs: number; readonly now: number },
): Promise<CreatedKey & { readonly old: KeyRecord }> {
  let done: (CreatedKey & { old: KeyRecord }) | undefined;
  await changeState(keysFile(folder), (file) => {
    const before = findKey(file, keyId);
    const state = stateOf(before, now);
    if (state !== 'active') throw notActive(keyId, state, before.replaced_by);
    const created = toCreated({ ...toNewKey(before), keyId: nextId(file, keyId) }, now);
    const end = Math.min(now + overlapMs, Date.parse(before.expires_at ?? '') || Infinity);
    const old = {
      ...before,
      expires_at: new Date(end).toISOString(),
      replaced_by: created.record.key_id,
    };
    done = { ...created, old };
    const kept = file.keys.map((record) => (record.key_id === keyId ? old : record));
    return { ...file, keys: [...kept, created.record] };
  });
  if (!done) throw failure('unknown_key/state', { key_id: keyId });
  return done;
}

/** From now on the key is refused, on open connections too. */
export async function revokeKey(folder: string, keyId: string, now: number): Promise<KeyRecord> {
  let revoked: KeyRecord | undefined;
  await changeState(keysFile(folder), (file) => {
    const before = findKey(file, keyId);
    revoked = { ...before, revoked_at: before.revoked_at ?? new Date(now).toISOString() };
    const keys = file.keys.map((record) => (record.key_id === keyId ? revoked : record));
    return { ...file, keys: keys as KeyRecord[] };
  });
  if (!revoked) throw failure('unknown_key/state', { key_id: keyId });
  return revoked;
}

function toCreated({ keyId, principal, tier, scopes, expiresAt }: NewKey, now: number): CreatedKey {
  const key = generateKey();
  const record = keyRecordSchema.safeParse({
    key_id: keyId,
    key_hash: hashKey(key),
    principal,
    tier,
    scopes: [...scopes],
    created_at: new Date(now).toISOString(),
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    revoked_at: null,
    replaced_by: null,
  });
  if (record.success) return { key, record: record.data };
  throw failure('usage/key', { key_id: keyId, fix: z.prettifyError(record.error) });
}

/** A key that has an end keeps it: rotation does not prolong what was granted. */
function toNewKey({ key_id, principal, tier, scopes, expires_at }: KeyRecord): NewKey {
  const expiresAt = expires_at === null ? undefined : Date.parse(expires_at);
  return { keyId: key_id, principal, tier, scopes, expiresAt };
}

/** `ci` is followed by `ci.2`, that by `ci.3`. */
function nextId({ keys }: KeysFile, keyId: string): string {
  const [, base = keyId, count = '1'] = /^(.*?)\.(\d{1,6})$/.exec(keyId) ?? [];
  const taken = new Set(keys.map(({ key_id }) => key_id));
  for (let number = Number(count) + 1; ; number += 1) {
    const id = `${base}.${number}`;
    if (!taken.has(id)) return id;
  }
}

function assertFree({ keys }: KeysFile, keyId: string): void {
  if (!keys.some(({ key_id }) => key_id === keyId)) return;
  throw failure('key_exists', { key_id: keyId });
}

function findKey({ keys }: KeysFile, keyId: string): KeyRecord {
  const found = keys.find(({ key_id }) => key_id === keyId);
  if (found) return found;
  throw failure('unknown_key/state', { key_id: keyId });
}

function notActive(keyId: string, state: KeyState, next: string | null): FabricError {
  const fix = next === null ? undefined : `rotate "${next}", which replaces it`;
  return failure('key_not_active', { key_id: keyId, state, fix });
}
