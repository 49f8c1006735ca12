// Shared keys. In memory there are only keyed hashes, under a secret that this process draws for
// itself and never shows: a copy of the table is worth nothing. Since no caller can aim at a hash,
// finding one in a map tells nothing by its timing. The cost of a check does not depend on how many
// keys there are. How strong a configured key must be is the configuration's business.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { FabricError, type TrustTier } from '@starloom/core';
import { isBearerText } from './bearer-text.ts';
import { hashKey } from './generate-key.ts';
import type { Principal } from './principal.ts';

interface PskOwner {
  /** Names the key in logs; unlike the key itself it is no secret. */
  readonly key_id: string;
  /** Several keys may name one principal, so that a new key can replace an old one in peace. */
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
}

export function createPskVerifier(keys: readonly PskKey[]): PskVerifier {
  const secret = randomBytes(32).toString('hex');
  // Both parts have a fixed length, so the hash of both together is as good as an HMAC, in one step.
  const digestOf = (storedHash: string) => hash('sha256', secret + storedHash, 'base64');
  const known = new Map<string, { readonly digest: Buffer; readonly principal: Principal }>();
  const ids = new Set<string>();
  for (const key of keys) {
    const digest = digestOf(toStoredHash(key));
    const twin = known.get(digest);
    if (twin) throw badKey(key, `is the same as the key "${twin.principal.keyId}"`);
    if (ids.has(key.key_id)) throw badKey(key, 'is there twice');
    ids.add(key.key_id);
    known.set(digest, { digest: Buffer.from(digest), principal: toPrincipal(key) });
  }
  return {
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
    if (isBearerText(key.key)) return hashKey(key.key);
    throw badKey(key, 'cannot be sent in a header: it is empty, too long or holds odd characters');
  }
  if (/^[0-9a-f]{64}$/.test(key.key_hash)) return key.key_hash;
  throw badKey(key, 'is not the SHA-256 of a key in hex');
}

function badKey({ key_id }: PskKey, what: string): FabricError {
  return new FabricError('BAD_INPUT', `The key "${key_id}" ${what}`, {
    details: { reason: 'bad_key', key_id, fix: 'give it a long random key of its own' },
  });
}
