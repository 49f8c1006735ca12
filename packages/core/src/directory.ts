// Every registry backend feeds one of these. A change of any number of agents is applied at once, so a
// reader sees all of it or none.

import { AgentLookup, type AgentRecord, type HeldCapability } from './agent-lookup.ts';
import { canonicalJson } from './canonical-json.ts';
import { type Health, type HealthStatus, UNKNOWN_HEALTH } from './health.ts';
import {
  type AgentInstance,
  bestHealth,
  findServed,
  holdBeside,
  type InstanceEntry,
  type InstanceHold,
  instanceKey,
  LEASE_EXPIRED,
} from './instance.ts';
import type { Capability, FallbackMode, Manifest } from './manifest.ts';
import { findCapability, normalName } from './names.ts';
import { Postings, PostingsIndex } from './postings.ts';
import { isTrustedAs, type TrustTier } from './trust-tier.ts';

export interface AgentFilter {
  readonly capability?: string | undefined;
  readonly tag?: string | undefined;
  readonly tier?: TrustTier | undefined;
  readonly status?: HealthStatus | undefined;
  readonly modality?: string | undefined;
}

export type DirectoryListener = (change: {
  readonly kind: 'agents' | 'capabilities' | 'health';
  readonly agentIds: readonly string[];
}) => void;

const NONE: readonly never[] = Object.freeze([]);

interface Discovered {
  readonly capabilities: readonly Capability[];
  readonly held: readonly HeldCapability[];
}

interface IndexKeys {
  readonly capabilities: ReadonlySet<string>;
  readonly tags: ReadonlySet<string>;
  readonly tiers: ReadonlySet<string>;
}

const NO_KEYS: IndexKeys = { capabilities: new Set(), tags: new Set(), tiers: new Set() };

/** A change of more agents than this is indexed as a whole. */
const MANY = 100;

interface Entry {
  readonly instances: readonly InstanceEntry[];
  /** Whose definition is served; none while all instances are held. */
  readonly served: InstanceEntry | undefined;
}

export class Directory extends AgentLookup {
  readonly #agents = new Map<string, Entry>();
  readonly #ids = new Postings();
  /** Who offers a capability, by its normal name. */
  readonly #byCapability = new PostingsIndex();
  readonly #byTag = new PostingsIndex();
  readonly #byTier = new PostingsIndex();
  /** By the key of the instance. */
  readonly #health = new Map<string, Health>();
  /** What each agent said it offers; forgotten when its manifest changes. */
  readonly #discovered = new WeakMap<Manifest, Discovered>();
  readonly #listeners = new Set<DirectoryListener>();

  get size(): number {
    return this.#ids.size;
  }

  protected override toRecord(agentId: string): AgentRecord | undefined {
    const entry = this.#agents.get(agentId);
    if (!entry?.served) return undefined;
    const instances = entry.instances.map((instance) => this.#toInstance(instance, entry));
    const { manifest } = entry.served;
    const record = {
      manifest,
      ...this.#servedBy(manifest),
      health: bestHealth(instances),
      instances,
    };
    this.records.set(agentId, record);
    return record;
  }

  /** What is kept of an agent, held instances included. */
  entriesOf(agentId: string): readonly InstanceEntry[] {
    return this.#agents.get(agentId)?.instances ?? NONE;
  }

  /** Of all agents. */
  entries(): InstanceEntry[] {
    return [...this.#agents.values()].flatMap(({ instances }) => instances);
  }

  /** Instances that take no calls until an operator acts, of all agents or of these. */
  heldInstances(
    agentIds: Iterable<string> = this.#agents.keys(),
  ): { readonly manifest: Manifest; readonly hold: InstanceHold }[] {
    return [...agentIds].flatMap((agentId) => {
      const entry = this.#agents.get(agentId);
      return (entry?.instances ?? NONE).flatMap((instance) => {
        const hold = holdBeside(instance, entry?.served);
        return hold ? [{ manifest: instance.manifest, hold }] : [];
      });
    });
  }

  /** In order of agent id. */
  list(filter: AgentFilter = {}): AgentRecord[] {
    const records = this.#recordsOf(this.#narrowest(filter));
    return records.filter((record) => matches(record, filter));
  }

  /** Agents that offer `capability`, the most trusted first, then by id. */
  findByCapability(capability: string): AgentRecord[] {
    return this.#recordsOf(
      this.#byCapability.get(normalName(capability))?.ranked(this.#tierOf) ?? NONE,
    );
  }

  protected override substitutesOf(
    primary: AgentRecord,
    capability: string,
    mode: FallbackMode | undefined,
  ): AgentRecord[] {
    const { agent_id, fallbacks } = primary.manifest;
    const named = fallbacks.flatMap((id) => this.get(id) ?? []);
    const peers = mode === 'named' ? [] : this.#peersOf(primary, capability);
    const seen = new Set([agent_id]);
    return [...named, ...peers].filter((record) => {
      const id = record.manifest.agent_id;
      if (seen.has(id) || !findCapability(record, capability)) return false;
      seen.add(id);
      return true;
    });
  }

  /**
   * Agents whose manifests declare the same capability, with the same schemas where both have them,
   * and that are trusted at least as far. What was discovered makes no peers: two servers may offer
   * tools of one name that act on different things.
   */
  #peersOf(primary: AgentRecord, capability: string): AgentRecord[] {
    const declared = findCapability(primary.manifest, capability);
    const own = findCapability(primary, capability) ?? declared;
    if (!own || !declared) return [];
    return this.findByCapability(capability).filter((peer) => {
      const theirs = findCapability(peer, capability);
      return (
        theirs !== undefined &&
        findCapability(peer.manifest, capability) !== undefined &&
        isTrustedAs(peer.manifest.trust_tier, primary.manifest.trust_tier) &&
        agree(own.input_schema, theirs.input_schema) &&
        agree(own.output_schema, theirs.output_schema)
      );
    });
  }

  /** Replaces all agents at once; health of those that stay is kept. Returns the ids that changed. */
  replaceAll(instances: readonly InstanceEntry[]): string[] {
    const changes = new Map<string, InstanceEntry[]>();
    for (const agentId of this.#agents.keys()) changes.set(agentId, []);
    for (const instance of instances) {
      const { agent_id } = instance.manifest;
      const known = changes.get(agent_id);
      if (known) known.push(instance);
      else changes.set(agent_id, [instance]);
    }
    return this.apply(changes);
  }

  /** All instances of some agents; none removes the agent. Returns the ids that changed. */
  apply(changes: ReadonlyMap<string, readonly InstanceEntry[]>): string[] {
    const isMany = changes.size > MANY;
    const changed = [...changes]
      .filter(([agentId, instances]) => this.#set(agentId, instances, isMany))
      .map(([agentId]) => agentId)
      .sort();
    if (changed.length > 0) this.#notify('agents', changed);
    return changed;
  }

  /** Adds an instance, or replaces the one of the same node. */
  put(instance: InstanceEntry): void {
    const { agent_id, node_id } = instance.manifest;
    const others = this.entriesOf(agent_id).filter(({ manifest }) => manifest.node_id !== node_id);
    this.apply(new Map([[agent_id, [...others, instance]]]));
  }

  /** One instance, or the whole agent. */
  remove(agentId: string, nodeId?: string): void {
    const left = this.entriesOf(agentId).filter(({ manifest }) => {
      return nodeId !== undefined && manifest.node_id !== nodeId;
    });
    this.apply(new Map([[agentId, left]]));
  }

  /** What the agent serves, now that it was asked. False when nothing changed. */
  setCapabilities(
    agentId: string,
    capabilities: readonly Capability[],
    held: readonly HeldCapability[] = [],
  ): boolean {
    const entry = this.#agents.get(agentId);
    if (!entry?.served) return false;
    const { manifest } = entry.served;
    const before = this.#servedBy(manifest);
    const after = { capabilities, held };
    const keys = this.#keysOf(manifest);
    this.#discovered.set(manifest, after);
    this.#reindex(agentId, keys, this.#keysOf(manifest), false);
    this.records.delete(agentId);
    if (JSON.stringify(before) === JSON.stringify(after)) return false;
    this.#notify('capabilities', [agentId]);
    return true;
  }

  /**
   * Of the instance on a node, else of the first one. Notifies listeners only when the status itself
   * changed. False when the agent is not known.
   */
  setHealth(agentId: string, health: Health, nodeId?: string): boolean {
    const entry = this.#agents.get(agentId);
    const instance = nodeId === undefined ? entry?.served : findNode(entry, nodeId);
    if (!instance) return false;
    const key = instanceKey(instance.manifest);
    const before = this.#health.get(key) ?? UNKNOWN_HEALTH;
    const isSame = before.status === health.status;
    const since = isSame ? before.since : (health.checked_at ?? undefined);
    this.#health.set(key, since === undefined ? health : { ...health, since });
    this.records.delete(agentId);
    if (!isSame) this.#notify('health', [agentId]);
    return true;
  }

  watch(listener: DirectoryListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** False when listeners have nothing to learn. */
  #set(agentId: string, given: readonly InstanceEntry[], isOneOfMany: boolean): boolean {
    const before = this.#agents.get(agentId);
    const instances = given
      .map((instance) => keepManifest(instance, before))
      .sort((a, b) => (a.manifest.node_id < b.manifest.node_id ? -1 : 1));
    for (const { manifest } of before?.instances ?? NONE) {
      const stays = instances.some(({ manifest: { node_id } }) => node_id === manifest.node_id);
      if (!stays) this.#health.delete(instanceKey(manifest));
    }
    const isSame = isSameSet(before?.instances ?? NONE, instances);
    const after = { instances, served: isSame ? before?.served : findServed(instances) };
    const [old, fresh] = [before?.served?.manifest, after.served?.manifest];
    if (instances.length === 0) this.#agents.delete(agentId);
    else this.#agents.set(agentId, after);
    if (old !== fresh) {
      this.#reindex(agentId, this.#keysOf(old), this.#keysOf(fresh), isOneOfMany);
      if (old && !fresh) this.#ids.delete(agentId);
      if (!old && fresh) this.#ids.add(agentId, isOneOfMany);
    }
    this.records.delete(agentId);
    return !isSame;
  }

  #toInstance(instance: InstanceEntry, entry: Entry): AgentInstance {
    const hold = holdBeside(instance, entry.served);
    const health = this.#health.get(instanceKey(instance.manifest)) ?? UNKNOWN_HEALTH;
    if (instance.state === 'expired') return { ...instance, hold, health: LEASE_EXPIRED };
    return { ...instance, hold, health };
  }

  #servedBy(manifest: Manifest): Discovered {
    const { capabilities = NONE } = manifest;
    return this.#discovered.get(manifest) ?? { capabilities, held: NONE };
  }

  #recordsOf(agentIds: readonly string[]): AgentRecord[] {
    const records: AgentRecord[] = [];
    for (const agentId of agentIds) {
      const record = this.get(agentId);
      if (record) records.push(record);
    }
    return records;
  }

  /** Only what differs is changed: an agent may be one of a hundred thousand with its tier. */
  #reindex(agentId: string, before: IndexKeys, after: IndexKeys, isOneOfMany: boolean): void {
    const indexes = {
      capabilities: this.#byCapability,
      tags: this.#byTag,
      tiers: this.#byTier,
    } as const;
    const isMoved = !before.tiers.isSubsetOf(after.tiers);
    for (const name of before.capabilities) this.#count(name, -1);
    for (const name of after.capabilities) this.#count(name, 1);
    for (const [name, index] of Object.entries(indexes)) {
      const [old, fresh] = [before[name as keyof IndexKeys], after[name as keyof IndexKeys]];
      // Capabilities are ranked by tier.
      const isWhole = isMoved && index === this.#byCapability;
      for (const key of old) if (isWhole || !fresh.has(key)) index.delete(key, agentId);
      for (const key of fresh) if (isWhole || !old.has(key)) index.add(key, agentId, isOneOfMany);
    }
  }

  #count(capability: string, change: 1 | -1): void {
    const count = (this.offering.get(capability) ?? 0) + change;
    if (count === 0) this.offering.delete(capability);
    else this.offering.set(capability, count);
  }

  #keysOf(manifest: Manifest | undefined): IndexKeys {
    if (!manifest) return NO_KEYS;
    const { capabilities } = this.#servedBy(manifest);
    return {
      capabilities: new Set(capabilities.map(({ name }) => normalName(name))),
      tags: new Set(manifest.tags),
      tiers: new Set([manifest.trust_tier]),
    };
  }

  readonly #tierOf = (agentId: string): TrustTier =>
    this.#agents.get(agentId)?.served?.manifest.trust_tier ?? 'public';

  #narrowest({ capability, tag, tier }: AgentFilter): readonly string[] {
    const lists: (Postings | undefined)[] = [];
    if (capability !== undefined) lists.push(this.#byCapability.get(normalName(capability)));
    if (tag !== undefined) lists.push(this.#byTag.get(tag));
    if (tier !== undefined) lists.push(this.#byTier.get(tier));
    const best = lists.reduce(
      (least, list) => ((list?.size ?? 0) < (least?.size ?? 0) ? list : least),
      lists.length === 0 ? this.#ids : lists[0],
    );
    return best?.sorted() ?? NONE;
  }

  #notify(kind: 'agents' | 'capabilities' | 'health', agentIds: readonly string[]): void {
    for (const listener of this.#listeners) listener({ kind, agentIds });
  }
}

function findNode(entry: Entry | undefined, nodeId: string): InstanceEntry | undefined {
  return entry?.instances.find(({ manifest }) => manifest.node_id === nodeId);
}

/** A manifest that did not change stays the same object: open connections hang on that. */
function keepManifest(instance: InstanceEntry, before: Entry | undefined): InstanceEntry {
  const known = findNode(before, instance.manifest.node_id)?.manifest;
  if (!known || known === instance.manifest) return instance;
  const isSame = JSON.stringify(known) === JSON.stringify(instance.manifest);
  return isSame ? { ...instance, manifest: known } : instance;
}

/** Whether readers see no difference; leases and revisions may have moved on. */
function isSameSet(before: readonly InstanceEntry[], after: readonly InstanceEntry[]): boolean {
  if (before.length !== after.length) return false;
  return before.every((one, index) => {
    const other = after[index];
    return (
      one.manifest === other?.manifest &&
      one.state === other.state &&
      one.hold?.reason === other.hold?.reason &&
      (before.length === 1 || one.revision === other.revision)
    );
  });
}

/** Schemas agree when they are equal, or one of them is unknown. */
function agree(one: object | undefined, other: object | undefined): boolean {
  if (one === undefined || other === undefined || one === other) return true;
  return canonicalForm(one) === canonicalForm(other);
}

/** Made once per schema: routes are looked up with every call. */
const canonicalForms = new WeakMap<object, string>();

function canonicalForm(schema: object): string {
  const known = canonicalForms.get(schema);
  if (known !== undefined) return known;
  const form = canonicalJson(schema, { loneSurrogates: 'escape' });
  canonicalForms.set(schema, form);
  return form;
}

function matches({ manifest, capabilities, health }: AgentRecord, filter: AgentFilter): boolean {
  const { capability, tag, tier, status, modality } = filter;
  if (capability !== undefined && !findCapability({ capabilities }, capability)) return false;
  if (tag !== undefined && !manifest.tags.includes(tag)) return false;
  if (tier !== undefined && manifest.trust_tier !== tier) return false;
  if (status !== undefined && health.status !== status) return false;
  if (modality === undefined) return true;
  return capabilities.some(
    ({ name, modalities }) =>
      (capability === undefined || normalName(name) === normalName(capability)) &&
      modalities.includes(modality),
  );
}
