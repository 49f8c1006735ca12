// The keys with which a realm signs: `signing-keys.json`, shared by its gateways and by the commands that
// issue passports. A new key is published before it is used, for longer than verifiers keep a set of keys;
// an old one stays published until the last token that it signed has expired. Its public half is kept,
// so that old audit logs can be verified.

import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { join } from 'node:path';
import type { Clock, Log } from '@starloom/core';
import {
  CompactSign,
  type CryptoKey,
  calculateJwkThumbprint,
  importJWK,
  type JSONWebKeySet,
} from 'jose';
import { z } from 'zod';
import { isSigned } from '../chained-log.ts';
import { failure } from '../reasons.ts';
import { changeState, LiveFile, readState, type StateFileOptions } from '../state/state-file.ts';
import { AHEAD_S, MAX_PASSPORT_S, SKEW_S } from './claims.ts';
import { ALGORITHM, type FindKey } from './read-token.ts';

export const signingKeySchema = z.strictObject({
  kid: z.string().min(1),
  created_at: z.iso.datetime(),
  /** Signs from here on; the next one takes over at its own time. */
  use_from: z.iso.datetime(),
  /** From here on nothing that it signed is accepted; unset while no other replaces it. */
  ends_at: z.iso.datetime().nullable(),
  x: z.base64url(),
  /** The private half; removed once the key signs no more. */
  d: z.base64url().optional(),
  /** It was stolen, or may have been: no gateway accepts it. */
  withdrawn: z.literal(true).optional(),
});

const fileSchema = z.strictObject({
  version: z.literal(1),
  /** Names the realm: `iss` of everything that it signs. */
  issuer: z.string().min(1),
  keys: z.array(signingKeySchema),
});

export type SigningKey = z.output<typeof signingKeySchema>;
export type SigningFile = z.output<typeof fileSchema>;

/** How long verifiers may keep a set of keys, in seconds. */
export const JWKS_MAX_AGE_S = 300;
const PUBLISHED_BEFORE_MS = (JWKS_MAX_AGE_S + SKEW_S) * 1000;
const ACCEPTED_AFTER_MS = (MAX_PASSPORT_S + 2 * SKEW_S) * 1000;
const ROTATE_AFTER_MS = 30 * 24 * 3_600_000;
/** By then nothing is accepted that a key signed, wherever there is a copy of it. */
export const REPLACED_AFTER_MS = ROTATE_AFTER_MS + PUBLISHED_BEFORE_MS + ACCEPTED_AFTER_MS;
const LOOK_MS = 3_600_000;
export const EMPTY_SIGNING: SigningFile = { version: 1, issuer: '-', keys: [] };

interface SigningKeysOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onChange?: () => void;
}

export class SigningKeys {
  readonly #options: SigningKeysOptions;
  readonly #file: LiveFile<SigningFile>;
  readonly #private = new Map<string, Promise<CryptoKey>>();
  readonly #public = new Map<string, Promise<CryptoKey>>();
  readonly #looking: NodeJS.Timeout;

  private constructor(options: SigningKeysOptions, file: LiveFile<SigningFile>) {
    this.#options = options;
    this.#file = file;
    this.#looking = setInterval(() => void this.#rotateWhenDue(), LOOK_MS).unref();
  }

  /** Makes the first key where there is none. */
  static async open(options: SigningKeysOptions): Promise<SigningKeys> {
    const { folder, clock, log, onChange = () => {} } = options;
    await createFirst(folder, clock.now());
    const file = await LiveFile.open({ ...signingFile(folder), log, onChange: () => onChange() });
    const keys = new SigningKeys(options, file);
    await keys.#rotateWhenDue();
    keys.#current();
    return keys;
  }

  get issuer(): string {
    return this.#file.value.issuer;
  }

  /** What `/.well-known/jwks.json` shows. */
  jwks(): JSONWebKeySet {
    const now = this.#options.clock.now();
    const published = this.#file.value.keys.filter((key) => !isOver(key, now));
    return {
      keys: published.map(({ kid, x }) => {
        return { kty: 'OKP', crv: 'Ed25519', alg: ALGORITHM, use: 'sig', kid, x };
      }),
    };
  }

  /** Finds keys that are published; AUTH_DENIED for others. */
  readonly findKey: FindKey = ({ kid = '' }) => {
    const key = this.#published(kid);
    if (!key) throw failure('unknown_signer');
    return fromCache(this.#public, kid, () => toCryptoKey({ x: key.x }));
  };

  async sign(type: string, claims: object): Promise<string> {
    const { kid, x, d } = this.#current();
    const key = await fromCache(this.#private, kid, () => toCryptoKey({ x, d }));
    return await new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
      .setProtectedHeader({ alg: ALGORITHM, typ: type, kid })
      .sign(key);
  }

  /** A signature over bytes that are no token. */
  signBytes(bytes: Uint8Array): string {
    const { x, d = '' } = this.#current();
    const key = createPrivateKey({ key: { ...OKP, x, d }, format: 'jwk' });
    return sign(null, bytes, key).toString('base64url');
  }

  /** Whether tokens of this key are accepted. */
  isPublished(kid: string): boolean {
    return this.#published(kid) !== undefined;
  }

  get currentKid(): string {
    return this.#current().kid;
  }

  /** Whether a published key made the signature. */
  verifyBytes(kid: string, bytes: Uint8Array, signature: string): boolean {
    const key = this.#published(kid);
    return key !== undefined && isSigned(key.x, bytes, signature);
  }

  change(edit: (file: SigningFile) => SigningFile | Promise<SigningFile>): Promise<SigningFile> {
    return this.#file.change(edit);
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await this.#file.close();
  }

  /** By a clock that is behind that of its maker the newest key may be from the future. */
  #current(): SigningKey {
    const now = this.#options.clock.now();
    const own = this.#file.value.keys.filter((key) => key.d !== undefined && !isOver(key, now));
    const usable = (at: number) => own.filter((key) => Date.parse(key.use_from) <= at);
    const newestFirst = (a: SigningKey, b: SigningKey) =>
      Date.parse(b.use_from) - Date.parse(a.use_from);
    const [key] = usable(now).toSorted(newestFirst);
    const [soon] = usable(now + AHEAD_S * 1000).toSorted((a, b) => newestFirst(b, a));
    if (key ?? soon) return (key ?? soon) as SigningKey;
    const [first] = own;
    if (!first) throw new Error('there is no signing key');
    const { use_from } = first;
    throw failure('clock_behind', { use_from, now: new Date(now).toISOString() });
  }

  #published(kid: string): SigningKey | undefined {
    const key = this.#file.value.keys.find((known) => known.kid === kid);
    return key && !isOver(key, this.#options.clock.now()) ? key : undefined;
  }

  async #rotateWhenDue(): Promise<void> {
    const { folder, clock, log } = this.#options;
    const newest = this.#file.value.keys.at(-1);
    if (!newest || clock.now() - Date.parse(newest.created_at) < ROTATE_AFTER_MS) return;
    try {
      await rotateSigningKey(folder, { now: clock.now(), newest: newest.kid });
      await this.#file.reload();
    } catch (error) {
      log.error({ error }, 'the signing key could not be rotated');
    }
  }
}

/**
 * A new key that takes over in five minutes; `atOnce` is for a key that was stolen: nothing that older
 * keys signed is accepted from now on.
 */
export async function rotateSigningKey(
  folder: string,
  { now, atOnce = false, newest }: { now: number; atOnce?: boolean; newest?: string },
): Promise<{ readonly kid: string; readonly use_from: string }> {
  const useFrom = atOnce ? now : now + PUBLISHED_BEFORE_MS;
  const key = await createSigningKey(now, useFrom);
  let made: SigningKey | undefined;
  const file = await changeState(signingFile(folder), (before) => {
    // Another gateway was quicker.
    if (newest !== undefined && before.keys.at(-1)?.kid !== newest) return before;
    const end = new Date(atOnce ? now : useFrom + ACCEPTED_AFTER_MS).toISOString();
    const older = before.keys.map((known) => withEnd(known, end, now, atOnce));
    made = key;
    return { ...withIssuer(before), keys: [...older, key] };
  });
  const { kid, use_from } = made ?? file.keys.at(-1) ?? key;
  return { kid, use_from };
}

/** Without keys that were withdrawn elsewhere; with a new one where none is left to sign with. */
export async function withoutKeys(
  file: SigningFile,
  kids: ReadonlySet<string>,
  now: number,
): Promise<SigningFile> {
  const isStolen = (key: SigningKey) => kids.has(key.kid) && !isOver(key, now);
  if (!file.keys.some(isStolen)) return file;
  const end = new Date(now).toISOString();
  const keys = file.keys.map((key) => (isStolen(key) ? withEnd(key, end, now, true) : key));
  const canSign = keys.some((key) => key.d !== undefined && Date.parse(key.use_from) <= now);
  return { ...file, keys: canSign ? keys : [...keys, await createSigningKey(now, now)] };
}

/** Public halves by id, those of retired keys too: old logs are verified with them. */
export async function readPublicKeys(folder: string): Promise<ReadonlyMap<string, string>> {
  const { keys } = await readState(signingFile(folder));
  return new Map(keys.map(({ kid, x }) => [kid, x]));
}

const OKP = { kty: 'OKP', crv: 'Ed25519' } as const;

export function signingFile(folder: string): StateFileOptions<SigningFile> {
  return { path: join(folder, 'signing-keys.json'), schema: fileSchema, empty: EMPTY_SIGNING };
}

async function createFirst(folder: string, now: number): Promise<void> {
  if ((await readState(signingFile(folder))).keys.length > 0) return;
  const key = await createSigningKey(now, now);
  await changeState(signingFile(folder), (file) => {
    return file.keys.length > 0 ? file : { ...withIssuer(file), keys: [key] };
  });
}

export async function createSigningKey(now: number, useFrom: number): Promise<SigningKey> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' });
  const kid = await calculateJwkThumbprint({ ...OKP, x });
  const at = (ms: number) => new Date(ms).toISOString();
  return { kid, created_at: at(now), use_from: at(useFrom), ends_at: null, x, d };
}

function withIssuer(file: SigningFile): SigningFile {
  if (file.issuer !== EMPTY_SIGNING.issuer) return file;
  return { ...file, issuer: `starloom:${randomBytes(8).toString('hex')}` };
}

/** Keeps an end that is set; a key that is over loses its private half. */
export function withEnd(key: SigningKey, end: string, now: number, atOnce: boolean): SigningKey {
  const sooner = key.ends_at === null || atOnce ? end : key.ends_at;
  const ends_at = key.ends_at !== null && key.ends_at < sooner ? key.ends_at : sooner;
  if (Date.parse(ends_at) > now) return { ...key, ends_at };
  const { d: _, ...rest } = key;
  return { ...rest, ends_at, ...(atOnce && !isOver(key, now) && { withdrawn: true }) };
}

export function isOver({ ends_at }: Pick<SigningKey, 'ends_at'>, now: number): boolean {
  return ends_at !== null && Date.parse(ends_at) <= now;
}

function fromCache(
  keys: Map<string, Promise<CryptoKey>>,
  kid: string,
  make: () => Promise<CryptoKey>,
): Promise<CryptoKey> {
  const known = keys.get(kid);
  if (known) return known;
  const made = make();
  keys.set(kid, made);
  return made;
}

async function toCryptoKey({ x, d }: { x: string; d?: string | undefined }): Promise<CryptoKey> {
  const jwk = { ...OKP, x, ...(d !== undefined && { d }) };
  return (await importJWK(jwk, ALGORITHM)) as CryptoKey;
}
