import { FabricError, type InputRequest } from '@starloom/core';

/** For an agent that asks in a call whose caller cannot be asked. */
export function unanswered(inputs: readonly InputRequest[]): FabricError {
  return new FabricError('INPUT_REQUIRED', 'The agent asks, and the caller cannot be asked', {
    details: { reason: 'input_required', inputs },
  });
}
