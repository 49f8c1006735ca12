import { FabricError } from '@starloom/core';

/** For a failure of a later request: that this one was not sent says nothing of the call. */
export function withoutSent(thrown: unknown): FabricError {
  const error = FabricError.from(thrown);
  if (!('sent' in error.details)) return error;
  const { code, message, details, cause, answer } = error;
  const { sent: _, ...rest } = details;
  return new FabricError(code, message, { details: rest, cause, answer });
}
