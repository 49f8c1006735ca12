import { FabricError } from '@starloom/core';

/** The connection was closed from our side, or never opened again. */
export function closedFailure(): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The connection to the agent was closed', {
    details: { reason: 'closed' },
  });
}
