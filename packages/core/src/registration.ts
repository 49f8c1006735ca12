// What every engine decides about a registration, as pure functions of what it holds.

import { exceedsDepth } from './agent-call.ts';
import type { FabricError } from './errors.ts';
import type { InstanceEntry } from './instance.ts';
import { type Manifest, manifestSchema } from './manifest.ts';
import type { InstanceEpoch, RegisterOptions, Registrant } from './ports/registry.ts';
import { failure } from './reasons.ts';

const MAX_MANIFEST_BYTES = 262_144;
/** Of the JSON in a manifest: deeper ones are refused before anything walks through them. */
const MAX_DEPTH = 64;

export const DEFAULT_LEASE_MS = 30_000;
export const MIN_LEASE_MS = 1_000;
export const MAX_LEASE_MS = 3_600_000;

/** A valid manifest with its defaults that every engine can store, or BAD_INPUT with every problem. */
export function parseManifest(value: unknown): Manifest {
  if (exceedsDepth(value, MAX_DEPTH)) {
    const problems = [{ path: [], message: `is nested deeper than ${MAX_DEPTH}` }];
    throw failure('manifest', { problems });
  }
  const parsed = manifestSchema.safeParse(value);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => ({ path, message }));
    throw failure('manifest', { problems }, { cause: parsed.error });
  }
  const text = JSON.stringify(parsed.data);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > MAX_MANIFEST_BYTES) {
    throw failure('manifest_bytes', { bytes, limit: MAX_MANIFEST_BYTES });
  }
  // JSON writes both as escapes, with an even number of backslashes before them if they are real.
  if (/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(text)) throw failure('manifest_text');
  return parsed.data;
}

export interface KnownAgent {
  /** All instances of the agent that are there. */
  readonly instances: readonly InstanceEntry[];
  /** An operator removed it, and no operator added it again. */
  readonly isRemoved: boolean;
  /** Another agent whose name could be taken for this one. */
  readonly like?: string | undefined;
}

export function assertMayRegister(
  { agent_id, node_id }: Manifest,
  by: Registrant,
  { leaseMs, ifRevision }: RegisterOptions,
  { instances, isRemoved, like }: KnownAgent,
): void {
  if (leaseMs !== undefined && !(leaseMs >= MIN_LEASE_MS && leaseMs <= MAX_LEASE_MS)) {
    throw failure('lease_ms', { least: MIN_LEASE_MS, most: MAX_LEASE_MS });
  }
  if (instances.length > 0) assertOwner(agent_id, by, instances);
  else if (like !== undefined) throw failure('look_alike', { agent_id, like });
  if (isRemoved && !by.isOperator) throw failure('removed', { agent_id });
  if (ifRevision === undefined) return;
  const current = instances.find(({ manifest }) => manifest.node_id === node_id);
  const revision = current?.revision ?? 0;
  if (revision !== ifRevision) throw failure('revision_conflict', { agent_id, revision });
}

/** The instance under this epoch, of this principal. */
export function assertCurrent(
  { agent_id, node_id, epoch }: InstanceEpoch,
  by: Registrant,
  instances: readonly InstanceEntry[],
): InstanceEntry {
  if (instances.length > 0) assertOwner(agent_id, by, instances);
  const found = instances.find(({ manifest }) => manifest.node_id === node_id);
  if (found?.epoch === epoch && found.state !== 'expired') return found;
  throw staleEpoch({ agent_id, node_id, epoch });
}

export function staleEpoch({ agent_id, node_id, epoch }: InstanceEpoch): FabricError {
  return failure('stale_epoch', { agent_id, node_id, epoch });
}

function assertOwner(
  agent_id: string,
  { principal, isOperator }: Registrant,
  instances: readonly InstanceEntry[],
): void {
  if (isOperator || instances.every(({ owner }) => owner === principal)) return;
  throw failure('taken', { agent_id });
}
