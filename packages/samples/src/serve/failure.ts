import { FabricError } from '@starloom/core';

/** The error for the caller. The details of a bug go only to the log, which is stderr. */
export function toFailure(thrown: unknown): FabricError {
  const failure = FabricError.from(thrown);
  if (failure.code === 'INTERNAL') console.error(failure.cause ?? failure);
  return failure;
}
