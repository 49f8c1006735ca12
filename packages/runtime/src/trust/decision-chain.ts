// The form of a record of decisions: one file for each run of an agent, one line of canonical JSON
// (RFC 8785) for each record, numbered, each carrying the hash of the line before it. `open` comes first
// and brings the run's public key, `close` ends it. Those two and every `seal` are signed (Ed25519), and
// through the hashes a signature is one over all lines above it.

import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { canonicalJson } from '@starloom/core';
import { z } from 'zod';

export const FIRST_LINK = '0'.repeat(64);

const chained = {
  seq: z.int().positive(),
  at: z.iso.datetime(),
  prev: z.string().regex(/^[0-9a-f]{64}$/),
};
const signed = { ...chained, signature: z.base64url() };

const openSchema = z.strictObject({
  type: z.literal('open'),
  version: z.literal(2),
  /** The raw 32 bytes, as in a JWK. */
  public_key: z.base64url(),
  ...signed,
});

const decisionSchema = z.strictObject({
  type: z.literal('decision'),
  session_id: z.string(),
  trace_id: z.string(),
  span_id: z.string(),
  depth: z.int(),
  call_id: z.string(),
  tool: z.string(),
  tool_source: z.string(),
  /** SHA-256 of the canonical arguments: provable, without keeping what they say. */
  arguments_sha256: z.string(),
  origin: z.enum(['user', 'model', 'remote']),
  decision: z.enum(['allow', 'ask', 'deny']),
  rule: z.string(),
  reasons: z.array(z.string()),
  outcome: z.enum(['executed', 'denied', 'failed']),
  tainted_by: z.array(z.strictObject({ id: z.string(), source: z.string() })),
  ...chained,
});

const sealSchema = z.strictObject({ type: z.literal('seal'), ...signed });
const closeSchema = z.strictObject({ type: z.literal('close'), ...signed });

export const recordSchema = z.discriminatedUnion('type', [
  openSchema,
  decisionSchema,
  sealSchema,
  closeSchema,
]);

export type DecisionRecord = z.output<typeof decisionSchema>;
export type ChainRecord = z.output<typeof recordSchema>;
export type SignedRecord = Exclude<ChainRecord, DecisionRecord>;
type Unplaced<Record> = Record extends unknown ? Omit<Record, keyof typeof signed> : never;
/** Records before they have their place in the chain. */
export type DecisionBody = Unplaced<DecisionRecord>;
export type SignedBody = Unplaced<SignedRecord>;

export function createSigner(): { readonly key: KeyObject; readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { key: privateKey, publicKey: publicKey.export({ format: 'jwk' }).x ?? '' };
}

/** The line of a signed record, without its line feed. */
export function toSignedLine(unsigned: object, key: KeyObject): string {
  const signature = sign(null, Buffer.from(canonicalJson(unsigned)), key).toString('base64url');
  return canonicalJson({ ...unsigned, signature });
}

export function isSignedBy({ signature, ...unsigned }: SignedRecord, publicKey: string): boolean {
  try {
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: publicKey },
      format: 'jwk',
    });
    const bytes = Buffer.from(canonicalJson(unsigned));
    return verify(null, bytes, key, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
}

/** What the next line carries as `prev`. */
export function linkOf(line: string): string {
  return createHash('sha256').update(line).digest('hex');
}
