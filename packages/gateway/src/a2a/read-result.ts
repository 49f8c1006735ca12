import { type CallResult, FabricError, type StoredJob } from '@starloom/core';

/** What a job that succeeded answered. */
export function resultOf({ result }: StoredJob): CallResult {
  const { result: answered } = (result ?? {}) as { readonly result?: CallResult };
  if (answered) return answered;
  throw new FabricError('INTERNAL', 'The job has no result');
}
