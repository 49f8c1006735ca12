import { type ErrorPayload, FabricError } from '@starloom/core';
import type { JobLedger } from '../ledger/job-ledger.ts';

/** Writes something of no meaning, to see that it can be done. */
export const WRITE_PROBE = 'writeProbe';

export interface LedgerStep {
  readonly method: keyof JobLedger | typeof WRITE_PROBE;
  readonly args: readonly unknown[];
}

export type Problem = ErrorPayload['error'];

export type LedgerReply = { readonly value: unknown } | { readonly problem: Problem };

export type ThreadReply =
  /** With a problem: the disk is full, and the file is opened as soon as it can be. */
  | { readonly kind: 'opened'; readonly problem?: Problem }
  | { readonly kind: 'failed'; readonly problem: Problem }
  | { readonly kind: 'done'; readonly replies: readonly LedgerReply[] };

export function toProblem({ code, message, details }: FabricError): Problem {
  return { code, message, details };
}

export function fromProblem({ code, message, details }: Problem): FabricError {
  return new FabricError(code, message, { details });
}
