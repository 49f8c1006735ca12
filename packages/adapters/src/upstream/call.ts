import { type Envelope, type FabricError, findCapability, type Manifest } from '@starloom/core';
import { failure } from '../reasons.ts';

/** What names a call in the details of its errors. */
export type CallNames = { readonly agent_id: string; readonly capability: string };

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
  const known = capabilities.map(({ name }) => name);
  return failure('unknown_capability', { agent_id, capability, known });
}

/** For calls that are open when their adapter is closed, or come after. */
export function closedError({ agent_id }: Manifest): FabricError {
  return failure('closed', { agent_id });
}
