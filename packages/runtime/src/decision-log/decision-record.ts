// The record of the decisions of one run of an agent: a chained log in one file, with canonical JSON
// (RFC 8785) in every line. `open` brings the run's public key, and that key signs.

import { readFile } from 'node:fs/promises';
import { canonicalJson } from '@starloom/core';
import {
  ChainCheck,
  type ChainFlaw,
  chainedFields,
  type EncodeRecord,
  signedFields,
} from '@starloom/identity/chained-log';
import { z } from 'zod';
import { plannedSteps } from '../trust/plans.ts';

const openSchema = z.strictObject({
  type: z.literal('open'),
  version: z.literal(2),
  /** The raw 32 bytes, as in a JWK. */
  public_key: z.base64url(),
  ...signedFields,
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
  ...chainedFields,
});

const planSchema = z.strictObject({
  type: z.literal('plan'),
  session_id: z.string(),
  trace_id: z.string(),
  steps: plannedSteps,
  ...chainedFields,
});

const recordSchema = z.discriminatedUnion('type', [
  openSchema,
  decisionSchema,
  planSchema,
  z.strictObject({ type: z.literal('seal'), ...signedFields }),
  z.strictObject({ type: z.literal('close'), ...signedFields }),
]);

export type DecisionRecord = z.output<typeof decisionSchema>;
/** A decision before it has its place in the chain. */
export type DecisionBody =
  | Omit<DecisionRecord, keyof typeof chainedFields>
  | Omit<z.output<typeof planSchema>, keyof typeof chainedFields>;

/** Also of text that is no I-JSON: a changed file must not stop its own verification. */
export const encodeDecision: EncodeRecord = (record) =>
  canonicalJson(record, { loneSurrogates: 'escape' });

export interface DecisionReport {
  /** Every line is as it was written, and nothing is missing at the end. */
  readonly intact: boolean;
  readonly decisions: number;
  /** Those at the end that no signature covers; none in a run that was closed. */
  readonly unsealed: number;
  /** Of the run; absent when the file does not say. */
  readonly publicKey?: string;
  readonly problems: readonly { readonly line: number; readonly flaw: ChainFlaw }[];
  /** The run has no end: cut off, crashed, or still going on. */
  readonly truncated: boolean;
}

interface VerifyDecisionsOptions {
  /** A run with another key is a problem. */
  readonly publicKey?: string;
  readonly onDecision?: (record: DecisionRecord) => void;
}

/**
 * Checks the record of a run. A run that was not closed crashed, still goes on, or was cut. A whole file
 * that was taken away, or replaced by one with a key of its own, is found by who knows the keys alone;
 * `publicKey` of `Decisions` gives them.
 */
export async function verifyDecisions(
  file: string,
  options: VerifyDecisionsOptions = {},
): Promise<DecisionReport> {
  let decisions = 0;
  const text = await readFile(file, 'utf8');
  // A last line without its end counts as one that cannot be read.
  const check = new ChainCheck(text === '' || text.endsWith('\n') ? text : `${text}\n`, {
    schema: recordSchema,
    encode: encodeDecision,
    findKey: (_, opening) => {
      const key = keyOf(opening);
      return (options.publicKey ?? key) === key ? key : undefined;
    },
    onRecord: (record) => {
      if (record.type !== 'decision') return;
      decisions += 1;
      options.onDecision?.(record);
    },
  });
  const publicKey = keyOf(check.opening);
  const { problems } = check;
  const truncated = !check.isClosed;
  return {
    intact: problems.length === 0 && !truncated,
    decisions,
    unsealed: check.unsealed,
    ...(publicKey !== undefined && { publicKey }),
    problems,
    truncated,
  };
}

function keyOf(opening: z.output<typeof recordSchema> | undefined): string | undefined {
  return opening?.type === 'open' ? opening.public_key : undefined;
}
