// The public keys of an issuer, for those who verify: a set that is given, or an address from the
// configuration. A set from an address is kept, and read again for a key that is not in it, but not more
// often than once in half a minute however many ask.

import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet } from 'jose';
import type { FindKey } from './read-token.ts';

export type JwksSource = JSONWebKeySet | URL;

const MAX_BYTES = 65_536;
const TIMEOUT_MS = 5_000;
const COOLDOWN_MS = 30_000;
const CACHE_MS = 300_000;

export function createJwks(source: JwksSource): FindKey {
  if (!(source instanceof URL)) return createLocalJWKSet(source) as FindKey;
  return createRemoteJWKSet(source, {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: CACHE_MS,
    [customFetch]: fetchBounded,
  }) as FindKey;
}

/** Follows no redirect and reads no more than a set of keys needs. */
async function fetchBounded(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...options, redirect: 'error' });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error('the JWKS is too large');
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(Buffer.concat(chunks), { status, headers });
}
