// Every registry backend feeds one of these, and calls read only this: lookups never wait for an
// engine. A whole new set of agents is swapped in at once, so a reader sees all of it or none.

import { canonicalJson } from './canonical-json.ts';
import { type Health, type HealthStatus, UNKNOWN_HEALTH } from './health.ts';
import { type Capability, findCapability, type Manifest } from './manifest.ts';
import { compareTiers, isTrustedAs, type TrustTier } from './tiers.ts';
import { normalName } from './tool-names.ts';

export interface AgentRecord {
  /** As the operator wrote it. */
  readonly manifest: Manifest;
  /** What the agent serves: what the manifest declares or the agent offers, as far as is known. */
  readonly capabilities: readonly Capability[];
  /** What it offers, but may not serve before an operator approves it. */
  readonly held: readonly HeldCapability[];
  readonly health: Health;
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

interface Index {
  readonly byId: ReadonlyMap<string, Manifest>;
  /** Who offers a capability, by its normal name; the most trusted first, then by id. */
  readonly ranked: ReadonlyMap<string, readonly string[]>;
  readonly byCapability: ReadonlyMap<string, readonly string[]>;
  readonly byTag: ReadonlyMap<string, readonly string[]>;
  readonly byTier: ReadonlyMap<string, readonly string[]>;
}

export class Directory {
  #index: Index = buildIndex([], () => []);
  readonly #health = new Map<string, Health>();
  /** What each agent said it offers; forgotten when its manifest changes. */
  readonly #discovered = new WeakMap<Manifest, Discovered>();
  readonly #listeners = new Set<DirectoryListener>();
  /** Made once for each agent: every call looks some up. */
  readonly #records = new Map<string, AgentRecord>();

  get size(): number {
    return this.#index.byId.size;
  }

  get(agentId: string): AgentRecord | undefined {
    const known = this.#records.get(agentId);
    if (known) return known;
    const manifest = this.#index.byId.get(agentId);
    if (!manifest) return undefined;
    const health = this.#health.get(agentId) ?? UNKNOWN_HEALTH;
    const record = { manifest, ...this.#servedBy(manifest), health };
    this.#records.set(agentId, record);
    return record;
  }

  /** In order of agent id. */
  list(filter: AgentFilter = {}): AgentRecord[] {
    return this.#narrowest(filter)
      .flatMap((agentId) => this.get(agentId) ?? [])
      .filter((record) => matches(record, filter));
  }

  /** Agents that offer `capability`, the most trusted first, then by id. */
  findByCapability(capability: string): AgentRecord[] {
    const ids = this.#index.ranked.get(normalName(capability)) ?? [];
    return ids.flatMap((id) => this.get(id) ?? []);
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
    const named = primary.manifest.fallbacks.flatMap((id) => this.get(id) ?? []);
    const peers = mode === 'named' ? [] : this.#peersOf(primary, capability);
    const seen = new Set([agentId]);
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
  replaceAll(manifests: readonly Manifest[]): string[] {
    const before = this.#index.byId;
    this.#rebuild(manifests);
    const after = this.#index.byId;
    const gone = [...before.keys()].filter((id) => !after.has(id));
    for (const id of gone) this.#health.delete(id);
    const changed = [...after.keys()].filter((id) => !isSame(before.get(id), after.get(id)));
    const agentIds = [...gone, ...changed].sort();
    if (agentIds.length > 0) this.#notify('agents', agentIds);
    return agentIds;
  }

  upsert(manifest: Manifest): void {
    const others = [...this.#index.byId.values()].filter(
      ({ agent_id }) => agent_id !== manifest.agent_id,
    );
    this.replaceAll([...others, manifest]);
  }

  remove(agentId: string): void {
    this.replaceAll([...this.#index.byId.values()].filter(({ agent_id }) => agent_id !== agentId));
  }

  /** What the agent serves, now that it was asked. False when nothing changed. */
  setCapabilities(
    agentId: string,
    capabilities: readonly Capability[],
    held: readonly HeldCapability[] = [],
  ): boolean {
    const manifest = this.#index.byId.get(agentId);
    if (!manifest) return false;
    const before = this.#servedBy(manifest);
    const after = { capabilities, held };
    this.#discovered.set(manifest, after);
    this.#records.delete(agentId);
    if (JSON.stringify(before) === JSON.stringify(after)) return false;
    this.#rebuild([...this.#index.byId.values()]);
    this.#notify('capabilities', [agentId]);
    return true;
  }

  /** Notifies listeners only when the status itself changed. False when the agent is not known. */
  setHealth(agentId: string, health: Health): boolean {
    if (!this.#index.byId.has(agentId)) return false;
    const before = this.#health.get(agentId) ?? UNKNOWN_HEALTH;
    this.#health.set(agentId, health);
    this.#records.delete(agentId);
    if (before.status !== health.status) this.#notify('health', [agentId]);
    return true;
  }

  watch(listener: DirectoryListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #isAlone({ manifest, held }: AgentRecord, capability: string): boolean {
    if (manifest.fallbacks.length > 0 || held.length > 0) return false;
    const offering = this.#index.byCapability.get(normalName(capability));
    return offering === undefined || offering.length <= 1;
  }

  #servedBy(manifest: Manifest): Discovered {
    const { capabilities = NONE } = manifest;
    return this.#discovered.get(manifest) ?? { capabilities, held: NONE };
  }

  #rebuild(manifests: readonly Manifest[]): void {
    this.#records.clear();
    this.#index = buildIndex(manifests, (manifest) => this.#servedBy(manifest).capabilities);
  }

  #narrowest({ capability, tag, tier }: AgentFilter): readonly string[] {
    const { byId, byCapability, byTag, byTier } = this.#index;
    const lists: (readonly string[])[] = [];
    if (capability !== undefined) lists.push(byCapability.get(normalName(capability)) ?? []);
    if (tag !== undefined) lists.push(byTag.get(tag) ?? []);
    if (tier !== undefined) lists.push(byTier.get(tier) ?? []);
    if (lists.length === 0) return [...byId.keys()];
    return lists.reduce((best, list) => (list.length < best.length ? list : best));
  }

  #notify(kind: 'agents' | 'capabilities' | 'health', agentIds: readonly string[]): void {
    for (const listener of this.#listeners) listener({ kind, agentIds });
  }
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

function buildIndex(
  manifests: readonly Manifest[],
  capabilitiesOf: (manifest: Manifest) => readonly Capability[],
): Index {
  const byId = new Map<string, Manifest>();
  const byCapability = new Map<string, string[]>();
  const byTag = new Map<string, string[]>();
  const byTier = new Map<string, string[]>();
  const sorted = [...manifests].sort((a, b) => (a.agent_id < b.agent_id ? -1 : 1));
  for (const manifest of sorted) {
    const id = manifest.agent_id;
    byId.set(id, manifest);
    const names = capabilitiesOf(manifest).map(({ name }) => normalName(name));
    for (const name of new Set(names)) add(byCapability, name, id);
    for (const tag of new Set(manifest.tags)) add(byTag, tag, id);
    add(byTier, manifest.trust_tier, id);
  }
  const tierOf = (id: string) => byId.get(id)?.trust_tier ?? 'public';
  const ranked = new Map<string, readonly string[]>();
  for (const [capability, ids] of byCapability) {
    ranked.set(
      capability,
      ids.toSorted((a, b) => compareTiers(tierOf(a), tierOf(b))),
    );
  }
  return { byId, ranked, byCapability, byTag, byTier };
}

function add(index: Map<string, string[]>, key: string, id: string): void {
  const ids = index.get(key);
  if (ids) ids.push(id);
  else index.set(key, [id]);
}

function isSame(before: Manifest | undefined, after: Manifest | undefined): boolean {
  return before === after || JSON.stringify(before) === JSON.stringify(after);
}
