import { type Envelope, FabricError, findCapability, type Manifest } from '@starloom/core';

/** What names a call in the details of its errors. */
export type CallNames = { readonly agent_id: string; readonly capability: string };

/** Refuses a call that ended before it began, with the reason of its signal. */
export function assertWanted(signal: AbortSignal): void {
  if (signal.aborted) throw FabricError.from(signal.reason);
}

/** Refuses, before anything is sent, a capability that the manifest does not have. */
export function assertCallable(manifest: Manifest, { target }: Envelope): CallNames {
  const names = { agent_id: manifest.agent_id, capability: target.capability };
  if (findCapability(manifest, target.capability)) return names;
  throw capabilityNotFound(manifest, target.capability);
}

export function capabilityNotFound(
  { agent_id, capabilities = [] }: Manifest,
  capability: string,
): FabricError {
  return new FabricError('CAPABILITY_NOT_FOUND', `No capability "${capability}"`, {
    details: {
      agent_id,
      capability,
      sent: false,
      known: capabilities.map(({ name }) => name),
      fix: 'call a capability of the manifest, or add it there',
    },
  });
}
