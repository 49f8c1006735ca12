// Checks that a card was signed with a key that the manifest pins. Works on the JSON as it was
// fetched: the SDK's canonical form of a card object in memory loses security schemes. The SDK's own
// verifier is not used, since it writes to standard output.

import { AgentCard, canonicalizeAgentCard } from '@a2a-js/sdk';
import { FabricError } from '@starloom/core';
import { type FlattenedJWS, flattenedVerify, type JWK } from 'jose';
import { z } from 'zod';

const MAX_SIGNATURES = 16;

const signatures = z
  .array(z.object({ protected: z.string(), signature: z.string() }))
  .max(MAX_SIGNATURES);

const headerSchema = z.object({ alg: z.string(), kid: z.string(), typ: z.string() });

/** Asymmetric ones alone: with HMAC a public key would be the secret. */
const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'PS384', 'RS256'];

/**
 * The card as far as its signature covers it: what the 1.0 schema does not know is left out.
 * AUTH_DENIED when no signature is of a pinned key.
 */
export async function verifiedCard(
  card: Readonly<Record<string, unknown>>,
  keys: readonly JWK[],
): Promise<unknown> {
  const parsed = signatures.safeParse(card.signatures);
  const payload = canonicalOf(card);
  for (const entry of parsed.data ?? []) {
    if (await isValid({ ...entry, payload }, keys)) {
      return AgentCard.toJSON(AgentCard.fromJSON(card));
    }
  }
  throw new FabricError('AUTH_DENIED', 'The agent card is not signed with a pinned key', {
    details: {
      reason: 'card_signature',
      upstream: { signatures: parsed.data?.length ?? 0 },
      sent: false,
      fix: 'let the agent sign its card, or correct endpoint.options.card_keys',
    },
  });
}

async function isValid(jws: FlattenedJWS & { protected: string }, keys: readonly JWK[]) {
  const header = headerOf(jws.protected);
  if (!header) return false;
  const fitting = keys.filter(({ kid }) => kid === undefined || kid === header.kid);
  for (const key of fitting) {
    const verified = flattenedVerify(jws, { alg: header.alg, ...key }, { algorithms: ALGORITHMS });
    if (
      await verified.then(
        () => true,
        () => false,
      )
    ) {
      return true;
    }
  }
  return false;
}

function headerOf(text: string): z.infer<typeof headerSchema> | undefined {
  try {
    return headerSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  } catch {
    return undefined;
  }
}

function canonicalOf(card: object): string {
  try {
    const canonical = canonicalizeAgentCard(card as AgentCard);
    return Buffer.from(canonical, 'utf8').toString('base64url');
  } catch (cause) {
    throw new FabricError('UPSTREAM_ERROR', 'The agent has no valid agent card at this address', {
      details: { reason: 'bad_card', sent: false },
      cause,
    });
  }
}
