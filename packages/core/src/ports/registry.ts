import type { AgentFilter, AgentRecord, DirectoryListener, HeldCapability } from '../directory.ts';
import type { Health } from '../health.ts';
import type { Capability, Manifest } from '../manifest.ts';

export interface RegistryStatus {
  readonly kind: string;
  /** False while the engine behind it cannot be read: answers may be stale. */
  readonly ok: boolean;
  readonly agents: number;
  /** When the directory last matched the engine. */
  readonly as_of: string;
  readonly message?: string;
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
  /** Adds the agent or replaces its manifest whole. BAD_INPUT when it is not a valid manifest. */
  register(manifest: Manifest): Promise<void>;
  /** Resolves also for an agent that is gone meanwhile. */
  updateHealth(agentId: string, health: Health): Promise<void>;
  /** What the agent said it serves, and what of it waits; in memory until its manifest changes. */
  updateCapabilities(
    agentId: string,
    capabilities: readonly Capability[],
    held?: readonly HeldCapability[],
  ): void;
  /** Called after each change; returns how to stop. */
  watch(listener: DirectoryListener): () => void;
  status(): RegistryStatus;
  close(): Promise<void>;
}
