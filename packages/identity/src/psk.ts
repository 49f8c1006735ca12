// Shared keys. In memory there are only keyed hashes, under a secret that this process draws for
// itself and never shows: a copy of the table is worth nothing. Since no caller can aim at a hash,
// the time of a lookup reveals nothing. The cost of a check does not depend on how many
// keys there are. How strong a configured key must be is the configuration's business.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FabricError, TrustTier } from '@starloom/core';
import type { Principal } from './principal.ts';
import { failure } from './reasons.ts';

interface PskOwner {
  /** Names the key in logs; unlike the key itself it is no secret. */
  readonly key_id: string;
  /** Several keys may name one principal, so that a new key can replace an old one without a gap. */
  readonly principal: string;
  readonly tier: TrustTier;
  readonly scopes: readonly string[];
  /** In milliseconds; from then on the key is refused. */
  readonly expiresAt?: number | undefined;
}

/** A key itself, or what `hashKey` made of it. */
export type PskKey = PskOwner & ({ readonly key: string } | { readonly key_hash: string });

export interface PskVerifier {
  /** The principal of this key; `undefined` when no principal has it. */
  verify(bearer: string): Principal | undefined;
  /** What is known of the keys, for those that show or remember them. */
  readonly keys?: KnownKeys;
}

/** The keys that are let in now, without what is secret of them. */
export interface KnownKeys {
  find(keyId: string): KnownKey | undefined;
  list(): readonly Principal[];
}

export interface KnownKey {
  readonly principal: Principal;
  /** Another one: another key has this id now. */
  readonly print: string;
}

export function createPskVerifier(keys: readonly PskKey[]): PskVerifier {
  const secret = randomBytes(32).toString('hex');
  // Both parts have a fixed length, so the hash of both together is as good as an HMAC, in one step.
  const digestOf = (storedHash: string) => hash('sha256', secret + storedHash, 'base64');
  const known = new Map<string, { readonly digest: Buffer; readonly principal: Principal }>();
  const ids = new Map<string, KnownKey>();
  for (const key of keys) {
    const stored = toStoredHash(key);
    const digest = digestOf(stored);
    const twin = known.get(digest);
    if (twin) throw badKey(key, `is the same as the key "${twin.principal.keyId}"`);
    if (ids.has(key.key_id)) throw badKey(key, 'is there twice');
    const principal = toPrincipal(key);
    ids.set(key.key_id, { principal, print: hash('sha256', stored, 'hex') });
    known.set(digest, { digest: Buffer.from(digest), principal });
  }
  return {
    keys: {
      find: (keyId) => ids.get(keyId),
      list: () => Array.from(ids.values(), ({ principal }) => principal),
    },
    verify(bearer) {
      const digest = digestOf(hashKey(bearer));
      const found = known.get(digest);
      return found && timingSafeEqual(found.digest, Buffer.from(digest))
        ? found.principal
        : undefined;
    },
  };
}

function toPrincipal({ principal, tier, scopes, key_id, expiresAt }: PskKey): Principal {
  const owned = Object.freeze([...scopes]);
  return Object.freeze({
    id: principal,
    mode: 'psk',
    tier,
    scopes: owned,
    keyId: key_id,
    ...(expiresAt !== undefined && { expiresAt }),
  });
}

function toStoredHash(key: PskKey): string {
  if ('key' in key) {
    if (BEARER_TEXT.test(key.key)) return hashKey(key.key);
    throw badKey(
      key,
      'cannot be sent in a header: it is empty, too long, or has characters that are not visible ASCII',
    );
  }
  if (/^[0-9a-f]{64}$/.test(key.key_hash)) return key.key_hash;
  throw badKey(key, 'is not the SHA-256 of a key in hex');
}

function badKey({ key_id }: PskKey, what: string): FabricError {
  return failure('bad_key', { key_id, what });
}

/** How our keys begin, so that scanners and people recognise a leaked one. */
export const KEY_PREFIX = 'slk_';

const KEY_BYTES = 32;

/** A new shared key of 256 random bits. */
export function generateKey(): string {
  return KEY_PREFIX + randomBytes(KEY_BYTES).toString('base64url');
}

/**
 * The form in which a key is stored: SHA-256, hex. Enough for keys of `generateKey`, whose bits
 * cannot be guessed; a key that a person made up must not be stored this way.
 */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/**
 * What can be sent as a bearer credential: visible ASCII; no comma, since HTTP joins repeated headers
 * with it. Keys are short; access tokens of some providers are not.
 */
export const BEARER_TEXT = /^[\x21-\x2b\x2d-\x7e]{1,8192}$/;
