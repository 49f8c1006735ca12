// The form of a decision record: one line of canonical JSON (RFC 8785) each, numbered, carrying the
// hash of the line before it and an Ed25519 signature over all the rest. A file is one or more runs;
// each begins with an `open` record that brings the run's public key and ends with `close`.

import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from './canonical-json.ts';

export const FIRST_LINK = '0'.repeat(64);

const chained = {
  seq: z.int().positive(),
  at: z.iso.datetime(),
  prev: z.string().regex(/^[0-9a-f]{64}$/),
  signature: z.base64url(),
};

const openSchema = z.strictObject({
  type: z.literal('open'),
  version: z.literal(1),
  session_id: z.string(),
  /** The raw 32 bytes, as in a JWK. */
  public_key: z.base64url(),
  ...chained,
});

const decisionSchema = z.strictObject({
  type: z.literal('decision'),
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

const closeSchema = z.strictObject({ type: z.literal('close'), ...chained });

export const recordSchema = z.discriminatedUnion('type', [openSchema, decisionSchema, closeSchema]);

export type DecisionRecord = z.output<typeof decisionSchema>;
export type ChainRecord = z.output<typeof recordSchema>;
type Distributed<Record> = Record extends unknown ? Omit<Record, keyof typeof chained> : never;
/** A record before it has its place in the chain. */
export type RecordBody = Distributed<ChainRecord>;

export function createSigner(): { readonly key: KeyObject; readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { key: privateKey, publicKey: publicKey.export({ format: 'jwk' }).x ?? '' };
}

/** The signed line, without its line feed. */
export function toLine(unsigned: Readonly<Record<string, unknown>>, key: KeyObject): string {
  const signature = sign(null, Buffer.from(canonicalJson(unsigned)), key).toString('base64url');
  return canonicalJson({ ...unsigned, signature });
}

export function isSignedBy({ signature, ...unsigned }: ChainRecord, publicKey: string): boolean {
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
