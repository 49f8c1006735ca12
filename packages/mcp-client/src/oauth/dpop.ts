// Tokens that are bound to a key (RFC 9449): who has the token alone cannot use it. Each agent has a
// key of its own. With a login it is kept beside the tokens, in the same file; else it lives in memory
// and cannot be exported. Proofs, keys and nonces are never logged.

import { DpopSession, generateDpopKeyPair } from '@modelcontextprotocol/client';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, importJWK } from 'jose';
import { z } from 'zod';

export type { DpopSession };

export const dpopKeySchema = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  d: z.string(),
});
type DpopKey = z.infer<typeof dpopKeySchema>;

const ALGORITHM = 'ES256';

/** For a login, which other processes use as well. */
export async function createDpopKey(): Promise<DpopKey> {
  const { privateKey } = await generateDpopKeyPair({ alg: ALGORITHM, extractable: true });
  return dpopKeySchema.parse(await exportJWK(privateKey));
}

export async function openDpop(key: DpopKey): Promise<DpopSession> {
  const { d: _, ...publicJwk } = key;
  const privateKey = (await importJWK(key, ALGORITHM)) as CryptoKey;
  const publicKey = (await importJWK(publicJwk, ALGORITHM)) as CryptoKey;
  const thumbprint = await calculateJwkThumbprint(publicJwk);
  return await DpopSession.create({
    keyPair: { privateKey, publicKey, publicJwk, thumbprint, alg: ALGORITHM },
  });
}

/** For tokens that live in this process alone. */
export function createDpop(): Promise<DpopSession> {
  return DpopSession.create({ alg: ALGORITHM });
}

/** Whether a refusal names DPoP and leaves no choice. */
export function asksForDpop(challenge: string | null): boolean {
  const hasScheme = (name: string) => new RegExp(`(?:^|,)\\s*${name}(?:\\s|,|$)`, 'i');
  return hasScheme('dpop').test(challenge ?? '') && !hasScheme('bearer').test(challenge ?? '');
}
