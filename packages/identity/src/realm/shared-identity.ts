// How keys and signing keys of several gateways become one set. A key only ever ends: of two ends the
// earlier one counts. The realm has one issuer, that of the gateway that was first; a gateway that signed
// under another name before keeps the public halves of its keys, for its old audit logs.

import { type Clock, FabricError, type Json, type Log } from '@starloom/core';
import { type KeyRecord, type KeysFile, keyRecordSchema, keysFile } from '../keys/key-records.ts';
import { changeState } from '../state/state-file.ts';
import {
  createSigningKey,
  EMPTY_SIGNING,
  isOver,
  type SigningFile,
  type SigningKey,
  signingFile,
  signingKeySchema,
  withEnd,
} from '../tokens/signing-keys.ts';
import type { StoreFollower } from './realm-store.ts';
import {
  followFile,
  type Realm,
  type SharedEntries,
  type SharedFile,
  shareFile,
} from './shared-file.ts';

type Change<T> = SharedFile<T>['change'];

const ISSUER = 'issuer';

function sharedKeys(change: Change<KeysFile>): SharedFile<KeysFile> {
  return {
    name: 'keys',
    what: 'keys',
    change,
    merge: mergeKeys,
    toEntries: ({ keys }) => new Map(keys.map((record) => [record.key_hash, { ...record }])),
  };
}

function sharedSigning(change: Change<SigningFile>, clock: Clock): SharedFile<SigningFile> {
  return {
    name: 'signing',
    what: 'signing keys',
    change,
    merge: (file, shared) => mergeSigning(file, shared, clock.now()),
    toEntries: ({ issuer, keys }) => {
      if (issuer === EMPTY_SIGNING.issuer) return new Map();
      const entries = keys.map((key): [string, Json] => [key.kid, { ...key } as Json]);
      return new Map([[ISSUER, issuer], ...entries]);
    },
  };
}

/** Brings the folder and the realm to the same, once; for commands, and before a gateway opens its keys. */
export async function shareIdentity(folder: string, realm: Realm, clock: Clock): Promise<void> {
  await shareFile(
    realm,
    sharedSigning((edit) => changeState(signingFile(folder), edit), clock),
  );
  await shareFile(
    realm,
    sharedKeys((edit) => changeState(keysFile(folder), edit)),
  );
}

/** Without the store the gateway starts with what its folder says, and shares it later. */
export async function tryShareIdentity(
  folder: string,
  realm: Realm,
  clock: Clock,
  log: Log,
): Promise<void> {
  try {
    await shareIdentity(folder, realm, clock);
  } catch (thrown) {
    const error = FabricError.from(thrown);
    log.warn({ error }, 'the keys of the realm cannot be read: those of the state folder are used');
  }
}

interface IdentityFiles {
  readonly changeKeys: Change<KeysFile>;
  readonly changeSigning: Change<SigningFile>;
}

/** For as long as the gateway runs. */
export async function followIdentity(
  realm: Realm,
  { changeKeys, changeSigning }: IdentityFiles,
  clock: Clock,
  log: Log,
): Promise<StoreFollower[]> {
  return [
    await followFile(realm, sharedSigning(changeSigning, clock), log),
    await followFile(realm, sharedKeys(changeKeys), log),
  ];
}

function mergeKeys(file: KeysFile, shared: SharedEntries): KeysFile {
  const byHash = new Map(file.keys.map((record) => [record.key_hash, record]));
  for (const value of shared.values()) {
    const { data: theirs } = keyRecordSchema.safeParse(value);
    if (!theirs) continue;
    const own = byHash.get(theirs.key_hash);
    byHash.set(theirs.key_hash, own ? unite(own, theirs) : theirs);
  }
  // Two gateways may give one name to two keys at the same moment: the earlier one keeps it.
  const byId = new Map<string, KeyRecord>();
  for (const record of byHash.values()) {
    const other = byId.get(record.key_id);
    if (!other || isEarlier(record, other)) byId.set(record.key_id, record);
  }
  const keys = [...byId.values()];
  const isSame = keys.length === file.keys.length && keys.every((key) => file.keys.includes(key));
  return isSame ? file : { ...file, keys };
}

/** The same object when the other one says nothing more. */
function unite(own: KeyRecord, theirs: KeyRecord): KeyRecord {
  const revoked_at = earlier(own.revoked_at, theirs.revoked_at);
  const expires_at = earlier(own.expires_at, theirs.expires_at);
  const replaced_by = earlier(own.replaced_by, theirs.replaced_by);
  const isSame =
    revoked_at === own.revoked_at &&
    expires_at === own.expires_at &&
    replaced_by === own.replaced_by;
  return isSame ? own : { ...own, revoked_at, expires_at, replaced_by };
}

async function mergeSigning(
  file: SigningFile,
  shared: SharedEntries,
  now: number,
): Promise<SigningFile> {
  const issuer = shared.get(ISSUER);
  if (typeof issuer !== 'string') return file;
  const isOther = file.issuer !== issuer;
  const end = new Date(now).toISOString();
  const own = isOther ? file.keys.map((key) => withEnd(key, end, now, false)) : file.keys;
  const byKid = new Map(own.map((key) => [key.kid, key]));
  for (const value of shared.values()) {
    const { data: theirs } = signingKeySchema.safeParse(value);
    const known = theirs && byKid.get(theirs.kid);
    if (theirs) byKid.set(theirs.kid, known ? uniteSigning(known, theirs, now) : theirs);
  }
  const keys = [...byKid.values()].toSorted(
    (a, b) => a.use_from.localeCompare(b.use_from) || a.kid.localeCompare(b.kid),
  );
  if (!keys.some((key) => key.d !== undefined && !isOver(key, now))) {
    keys.push(await createSigningKey(now, now));
  }
  const isSame =
    !isOther && keys.length === file.keys.length && keys.every((key, at) => key === file.keys[at]);
  return isSame ? file : { ...file, issuer, keys };
}

function uniteSigning(own: SigningKey, theirs: SigningKey, now: number): SigningKey {
  const ends_at = earlier(own.ends_at, theirs.ends_at);
  const withdrawn = own.withdrawn ?? theirs.withdrawn;
  const d = isOver({ ends_at }, now) || withdrawn ? undefined : (own.d ?? theirs.d);
  if (ends_at === own.ends_at && withdrawn === own.withdrawn && d === own.d) return own;
  const { d: _, ...rest } = own;
  return { ...rest, ends_at, ...(d !== undefined && { d }), ...(withdrawn && { withdrawn }) };
}

function isEarlier(one: KeyRecord, other: KeyRecord): boolean {
  const order = one.created_at.localeCompare(other.created_at);
  return order < 0 || (order === 0 && one.key_hash < other.key_hash);
}

function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
