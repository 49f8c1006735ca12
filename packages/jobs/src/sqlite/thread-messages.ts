import { type ErrorPayload, FabricError, type JobLedger } from '@starloom/core';

/** Writes something of no meaning, to see that it can be done. */
export const WRITE_PROBE = 'writeProbe';

export interface LedgerStep {
  readonly method: keyof JobLedger | typeof WRITE_PROBE;
  readonly args: readonly unknown[];
}

export type Problem = ErrorPayload['error'];

export type LedgerReply = { readonly value: unknown } | { readonly problem: Problem };

export type ThreadReply =
  | { readonly kind: 'opened' }
  | { readonly kind: 'failed'; readonly problem: Problem }
  | { readonly kind: 'done'; readonly replies: readonly LedgerReply[] };

export function toProblem({ code, message, details }: FabricError): Problem {
  return { code, message, details };
}

export function fromProblem({ code, message, details }: Problem): FabricError {
  return new FabricError(code, message, { details });
}
