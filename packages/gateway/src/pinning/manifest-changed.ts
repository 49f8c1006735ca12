import { FabricError, type HeldCapability } from '@starloom/core';

/** A call of a capability that waits for approval. */
export function manifestChanged(agentId: string, held: HeldCapability): FabricError {
  const { name, reason, changes, like } = held;
  const why = {
    changed: 'was changed by the agent after it was approved',
    new: 'is new and not approved yet',
    look_alike: `looks like "${like}" and is not approved`,
  }[reason];
  return new FabricError('MANIFEST_CHANGED', `"${name}" of agent "${agentId}" ${why}`, {
    details: {
      agent_id: agentId,
      capability: name,
      reason,
      changes,
      ...(like !== undefined && { like }),
      sent: false,
      fix: `starloom agents approve ${agentId}`,
    },
  });
}
