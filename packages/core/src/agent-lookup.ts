// What every call asks of the directory: an agent, and which agents may serve the call instead. Lookups
// never wait for an engine.

import type { Health } from './health.ts';
import type { AgentInstance } from './instance.ts';
import type { Capability, FallbackMode, Manifest } from './manifest.ts';
import { findCapability, normalName } from './names.ts';

export interface AgentRecord {
  /** The definition that is served, as the first of its instances gave it. */
  readonly manifest: Manifest;
  /** What the agent serves: what the manifest declares or the agent offers, as far as is known. */
  readonly capabilities: readonly Capability[];
  /** What it offers, but may not serve before an operator approves it. */
  readonly held: readonly HeldCapability[];
  /** Of its best instance. */
  readonly health: Health;
  /** Where it runs, in order of node; also those that take no calls. */
  readonly instances: readonly AgentInstance[];
}

/** Why a capability waits: it changed after its approval, is new, or looks like another one. */
export const HOLD_REASONS = ['changed', 'new', 'look_alike'] as const;

export interface HeldCapability {
  readonly name: string;
  readonly reason: (typeof HOLD_REASONS)[number];
  /** The fields that differ from what was approved. */
  readonly changes: readonly string[];
  /** The approved capability that it looks like. */
  readonly like?: string | undefined;
}

export abstract class AgentLookup {
  /** Made once for each agent: every call looks some up. */
  protected readonly records = new Map<string, AgentRecord>();
  /** How many agents offer a capability, by its normal name: most calls need no more. */
  protected readonly offering = new Map<string, number>();

  protected abstract toRecord(agentId: string): AgentRecord | undefined;
  protected abstract substitutesOf(
    primary: AgentRecord,
    capability: string,
    mode: FallbackMode | undefined,
  ): AgentRecord[];

  get(agentId: string): AgentRecord | undefined {
    return this.records.get(agentId) ?? this.toRecord(agentId);
  }

  /**
   * Whom to try after `agentId`: its named fallbacks in order, then its peers. Each agent once;
   * agents without the capability are left out.
   */
  resolveFallbacks(agentId: string, capability: string): AgentRecord[] {
    const primary = this.get(agentId);
    if (!primary) return [];
    const own = findCapability(primary, capability) ?? findCapability(primary.manifest, capability);
    const mode = own?.fallback ?? primary.manifest.fallback;
    if (mode === 'none' || this.#isAlone(primary, capability)) return [];
    return this.substitutesOf(primary, capability, mode);
  }

  #isAlone({ manifest, held }: AgentRecord, capability: string): boolean {
    if (manifest.fallbacks.length > 0 || held.length > 0) return false;
    return (this.offering.get(normalName(capability)) ?? 0) <= 1;
  }
}
