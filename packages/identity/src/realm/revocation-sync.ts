// Revocations reach every gateway that shares a store. The files of the state folder stay what counts:
// what others revoked is written into them, so that it holds without the store, too; what they say and
// the store does not is written there. Both sides only grow, so the order does not matter.

import type { Clock, Log } from '@starloom/core';
import { z } from 'zod';
import { type KeyRecord, type KeysFile, keysFile } from '../keys/key-records.ts';
import { failure } from '../reasons.ts';
import { changeState } from '../state/state-file.ts';
import {
  newsFor,
  type Revocation,
  type RevocationsFile,
  revocationsFile,
  revokedSchema,
  ttlOf,
  withRevocations,
} from '../tokens/revocations.ts';
import {
  REPLACED_AFTER_MS,
  type SigningFile,
  signingFile,
  withoutKeys,
} from '../tokens/signing-keys.ts';
import {
  type RealmPut,
  type RealmSnapshot,
  type RealmStore,
  StoreFollower,
} from './realm-store.ts';

interface RevocationSyncOptions {
  readonly realm: RealmStore;
  readonly files: SharedFiles;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the revocations of a gateway and those of its realm the same. */
export function followRevocations(options: RevocationSyncOptions): Promise<StoreFollower> {
  const { realm, files, clock, log } = options;
  return StoreFollower.open({
    realm,
    name: REVOCATIONS,
    log,
    words: {
      away: 'revocations are not shared with other gateways until the coordination store is back',
      back: 'revocations are shared with other gateways again',
    },
    share: () => shareRevocations({ realm, files, now: clock.now(), log }),
  });
}

interface SharedFiles {
  changeRevocations(edit: (file: RevocationsFile) => RevocationsFile): Promise<RevocationsFile>;
  changeKeys(edit: (file: KeysFile) => KeysFile): Promise<KeysFile>;
  changeSigning(edit: (file: SigningFile) => Promise<SigningFile>): Promise<SigningFile>;
}

interface ShareOptions extends Omit<RevocationSyncOptions, 'clock'> {
  readonly now: number;
}

const REVOCATIONS = 'revocations';

/** Others may be faster so often, or there may be so much to write. */
const ATTEMPTS = 50;
const WRITES_AT_ONCE = 500;
const KEY_PREFIX = 'key:';
const SIGNING_PREFIX = 'kid:';

const keySchema = z.strictObject({ key_id: z.string(), at: z.iso.datetime() });
type RevokedKey = z.output<typeof keySchema>;

interface Shared {
  readonly revocations: ReadonlyMap<string, Revocation>;
  /** By the hash of the key: ids of keys are not unique among gateways. */
  readonly keys: ReadonlyMap<string, RevokedKey>;
  /** Ids of signing keys that were withdrawn. */
  readonly signing: ReadonlySet<string>;
}

/** Brings files and store to the same; the version of the store that the files know of. */
export async function shareRevocations({ realm, files, now, log }: ShareOptions): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const snapshot = await realm.read(REVOCATIONS);
    const shared = toShared(snapshot, log);
    const { revocations } = shared;
    const own = await files.changeRevocations((file) => withRevocations(file, revocations, now));
    const keys = await files.changeKeys((file) => withRevokedKeys(file, shared));
    const signing = await files.changeSigning((file) => withoutKeys(file, shared.signing, now));
    const news = [
      ...newsFor(own, revocations, now).map((one) => ({ kind: 'put' as const, ...one })),
      ...newKeys(keys, shared, now),
      ...newlyWithdrawn(signing, shared, now),
    ];
    if (news.length === 0) return snapshot.version;
    const writes = news.slice(0, WRITES_AT_ONCE);
    const ifKeys = new Map(writes.map(({ key }) => [key, snapshot.entries.get(key)?.version ?? 0]));
    await realm.commit(REVOCATIONS, { writes, ifKeys, event: REVOCATIONS });
  }
  throw failure('realm_busy');
}

/** For commands, which have no gateway around them. */
export function filesOf(folder: string): SharedFiles {
  return {
    changeRevocations: (edit) => changeState(revocationsFile(folder), edit),
    changeKeys: (edit) => changeState(keysFile(folder), edit),
    changeSigning: (edit) => changeState(signingFile(folder), edit),
  };
}

function toShared({ entries }: RealmSnapshot, log: Log): Shared {
  const revocations = new Map<string, Revocation>();
  const keys = new Map<string, RevokedKey>();
  const signing = new Set<string>();
  for (const [key, { value }] of entries) {
    const revoked = SUBJECT.test(key) ? revokedSchema.safeParse(value).data : undefined;
    const revokedKey = KEY.test(key) ? keySchema.safeParse(value).data : undefined;
    if (revoked) revocations.set(key, revoked);
    else if (revokedKey) keys.set(key, revokedKey);
    else if (key.startsWith(SIGNING_PREFIX)) signing.add(key.slice(SIGNING_PREFIX.length));
    else log.warn({ key }, 'an entry among the shared revocations cannot be read');
  }
  return { revocations, keys, signing };
}

const SUBJECT = /^(?:prn|sub|mnd|sus):/;
const KEY = /^key:[0-9a-f]{64}$/;

function withRevokedKeys(file: KeysFile, { keys: revoked }: Shared): KeysFile {
  const isNews = (record: KeyRecord) => record.revoked_at === null && revoked.has(nameOf(record));
  if (!file.keys.some(isNews)) return file;
  const keys = file.keys.map((record) => {
    const found = isNews(record) ? revoked.get(nameOf(record)) : undefined;
    return found ? { ...record, revoked_at: found.at } : record;
  });
  return { ...file, keys };
}

/** A key that has an end needs no revocation after it. */
function newKeys({ keys }: KeysFile, { keys: known }: Shared, now: number): RealmPut[] {
  return keys.flatMap((record) => {
    const { key_id, revoked_at: at, expires_at } = record;
    const end = expires_at === null ? undefined : Date.parse(expires_at);
    const isOver = end !== undefined && end <= now;
    if (at === null || isOver || known.has(nameOf(record))) return [];
    return [{ kind: 'put', key: nameOf(record), value: { key_id, at }, ttlMs: ttlOf(end, now) }];
  });
}

/** Kept until every gateway with a copy has replaced it by itself. */
function newlyWithdrawn({ keys }: SigningFile, { signing }: Shared, now: number): RealmPut[] {
  return keys
    .filter(({ kid, withdrawn }) => withdrawn && !signing.has(kid))
    .map(({ kid, ends_at }) => ({ kid, end: Date.parse(ends_at ?? '') + REPLACED_AFTER_MS }))
    .filter(({ end }) => end > now)
    .map(({ kid, end }) => {
      return { kind: 'put', key: SIGNING_PREFIX + kid, value: true, ttlMs: ttlOf(end, now) };
    });
}

function nameOf({ key_hash }: KeyRecord): string {
  return KEY_PREFIX + key_hash;
}
