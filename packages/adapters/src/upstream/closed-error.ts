import { FabricError, type Manifest } from '@starloom/core';

/** For calls that are open when their adapter is closed, or come after. */
export function closedError({ agent_id }: Manifest): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The adapter of the agent is closed', {
    details: { agent_id, reason: 'closed', fix: 'open an adapter for the agent again' },
  });
}
