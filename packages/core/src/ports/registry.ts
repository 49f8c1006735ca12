import type { AgentRecord, HeldCapability } from '../agent-lookup.ts';
import type { AgentFilter, DirectoryListener } from '../directory.ts';
import type { Health, HealthStatus } from '../health.ts';
import type { InstanceHold, InstanceKey } from '../instance.ts';
import type { Capability, Manifest } from '../manifest.ts';

export interface RegistryStatus {
  readonly kind: string;
  /** False while the engine behind it cannot be read: answers may be stale. */
  readonly ok: boolean;
  readonly agents: number;
  /** When the directory last matched the engine. */
  readonly as_of: string;
  /** Of the last change that the directory holds, where the engine counts changes. */
  readonly revision?: number;
  readonly message?: string;
  /** Instances that take no calls until an operator acts; only where there are some. */
  readonly held?: readonly (InstanceKey & InstanceHold)[];
}

/**
 * Where agents are found. Reads answer at once from the in-memory directory, whatever the engine
 * does; writes reach the engine first and are visible to readers when they resolve.
 */
export interface Registry {
  list(filter?: AgentFilter): readonly AgentRecord[];
  get(agentId: string): AgentRecord | undefined;
  /** The most trusted first, then by id. */
  findByCapability(capability: string): readonly AgentRecord[];
  /**
   * Named fallbacks in order, then peers: agents whose manifests declare the capability too, with
   * equal schemas, trusted at least as far. Narrowed by `fallback` of the agent or capability.
   */
  resolveFallbacks(agentId: string, capability: string): readonly AgentRecord[];
  /**
   * For an operator: adds the instance or replaces its manifest whole. BAD_INPUT when it is not a
   * valid manifest.
   */
  register(manifest: Manifest): Promise<void>;
  /**
   * As this gateway sees the instance on a node; without one, the first instance. Visible at once; the
   * engine keeps changes of the status as history, later. Resolves also for an agent that is gone.
   */
  updateHealth(agentId: string, health: Health, nodeId?: string): Promise<void>;
  /** What the agent said it serves, and what of it waits; in memory until its manifest changes. */
  updateCapabilities(
    agentId: string,
    capabilities: readonly Capability[],
    held?: readonly HeldCapability[],
  ): void;
  /** Called after each change; returns how to stop. */
  watch(listener: DirectoryListener): () => void;
  status(): RegistryStatus;
  /** Takes registrations; absent where a backend cannot. */
  readonly registrar?: Registrar;
  close(): Promise<void>;
}

/** Who writes: an operator may change everything, an agent what it registered itself. */
export interface Registrant {
  readonly principal: string;
  readonly isOperator: boolean;
}

export interface Registration extends InstanceKey {
  /** Under which the instance renews its lease; each registration has a higher one. */
  readonly epoch: number;
  /** 0: it has no lease, and stays until it is removed. */
  readonly lease_ms: number;
  readonly revision: number;
}

export interface RegisterOptions {
  /** Without it the instance stays until it is removed. */
  readonly leaseMs?: number | undefined;
  /** Refused unless the instance is at this revision; 0 is one that does not exist. */
  readonly ifRevision?: number | undefined;
}

export interface InstanceEpoch extends InstanceKey {
  readonly epoch: number;
}

/** One change of the health of an instance, as one gateway saw it. */
export interface HealthEntry {
  readonly at: string;
  readonly node_id: string;
  readonly status: HealthStatus;
  readonly reason?: string;
  readonly message?: string;
  readonly latency_ms?: number;
  /** Which gateway saw it. */
  readonly seen_by: string;
}

/**
 * Instances that come and go by themselves. Every write is whole or refused: BAD_INPUT with the reason
 * `taken` for a name of another principal, `stale_epoch` for a registration that has ended,
 * `look_alike`, `removed`, `revision_conflict`; OVERLOADED while the engine is away.
 */
export interface Registrar {
  /** Starts a new registration; an earlier one of the same instance ends. */
  register(manifest: Manifest, by: Registrant, options?: RegisterOptions): Promise<Registration>;
  /** When the lease runs out then, in milliseconds of the engine's clock. */
  renew(instance: InstanceEpoch, by: Registrant): Promise<{ readonly expiresAt: number }>;
  /** New calls go to other instances; the lease goes on. */
  drain(instance: InstanceEpoch, by: Registrant): Promise<void>;
  /** Removes the instance, and with the last one the agent. */
  leave(instance: InstanceEpoch, by: Registrant): Promise<void>;
  /** For operators: one instance, or the agent, which may not register itself again then. */
  remove(agentId: string, nodeId: string | undefined, by: Registrant): Promise<boolean>;
  /** The newest first. */
  history(agentId: string, limit: number): Promise<readonly HealthEntry[]>;
}
