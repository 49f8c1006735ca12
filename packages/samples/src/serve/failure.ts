import { FabricError } from '@starloom/core';

/** What the caller is told. A bug is told to nobody but the log, which is stderr. */
export function toFailure(thrown: unknown): FabricError {
  const failure = FabricError.from(thrown);
  if (failure.code === 'INTERNAL') console.error(failure.cause ?? failure);
  return failure;
}
