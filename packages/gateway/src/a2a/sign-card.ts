// Signatures of cards: JWS over the canonical JSON of the card without its signatures.

import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { AgentCard, generateAgentCardSignature } from '@a2a-js/sdk';
import { canonicalJson } from '@starloom/core';
import { signingAlgorithm } from '../signing-algorithm.ts';

export type CardSigner = (card: AgentCard) => Promise<AgentCard>;

/** `pem` is a private key, Ed25519 or P-256. */
export function createCardSigner(pem: string): CardSigner {
  const key = createPrivateKey(pem);
  const sign = generateAgentCardSignature(key, {
    alg: signingAlgorithm(key) ?? '',
    kid: thumbprintOf(key),
    typ: 'JOSE',
  });
  return async (card) => {
    // The SDK reads what it signs as JSON: given its own objects, it would leave out half of them.
    const { signatures } = await sign(AgentCard.toJSON(card) as AgentCard);
    return { ...card, signatures };
  };
}

/** Names a key by itself (RFC 7638). */
function thumbprintOf(key: KeyObject): string {
  const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' });
  const needed = y === undefined ? { crv, kty, x } : { crv, kty, x, y };
  return createHash('sha256').update(canonicalJson(needed)).digest('base64url');
}
