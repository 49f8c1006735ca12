import {
  type CallContext,
  type Capability,
  type Envelope,
  FabricError,
  findCapability,
  type Manifest,
} from '@starloom/core';
import { failure } from '../reasons.ts';

/** Refuses, before anything is sent, a capability that the manifest does not have. */
export function assertCallable(manifest: Manifest, { target }: Envelope): Capability {
  const found = findCapability(manifest, target.capability);
  if (found) return found;
  throw capabilityNotFound(manifest, target.capability);
}

/** The failure of a call, which names it; the reason of its signal stays as it is. */
export function failureOf(
  error: unknown,
  { agent_id }: Manifest,
  { signal }: CallContext,
  { target }: Partial<Envelope> = {},
): unknown {
  if (error === signal.reason) return error;
  const capability = target && { capability: target.capability };
  return FabricError.from(error).with({ agent_id, ...capability });
}

export function capabilityNotFound(
  { agent_id, capabilities = [] }: Manifest,
  capability: string,
): FabricError {
  const known = capabilities.map(({ name }) => name);
  return failure('unknown_capability', { agent_id, capability, known });
}

/** For a failure before anything reached the agent. */
export function throwUnsent(error: unknown): never {
  throw FabricError.from(error).with({ sent: false });
}

/** For calls that are open when their adapter is closed, or come after. */
export function closedError({ agent_id }: Manifest): FabricError {
  return failure('closed', { agent_id });
}
