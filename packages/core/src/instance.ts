// An agent may run on several nodes. Its definition (capabilities, schemas, tier, tags, fallbacks) is
// one; an instance says where it runs: node, endpoint, lease. The key of an instance is
// `agent_id@node_id`. A manifest is both: the definition as one instance gave it.

import { canonicalJson } from './canonical-json.ts';
import { type Health, type HealthStatus, UNKNOWN_HEALTH } from './health.ts';
import type { Manifest } from './manifest.ts';
import { sha256Hex } from './tool-names.ts';

/** Why no call goes to an instance whatever its health: shown to operators, never to callers. */
export interface InstanceHold {
  readonly reason: 'definition' | 'unsigned' | 'command' | 'secret' | 'unreadable';
  readonly message: string;
  readonly fix: string;
}

/**
 * `active` instances take calls. A `draining` one takes none that are new. The lease of an `expired`
 * one ran out: it is offline until its agent registers again.
 */
export type InstanceState = 'active' | 'draining' | 'expired';

/** What a registry keeps of an instance. */
export interface InstanceEntry {
  readonly manifest: Manifest;
  /** Of the change that wrote it. Where definitions disagree, the one with the newest is served. */
  readonly revision: number;
  readonly state: InstanceState;
  /** The principal that registered it; absent when an operator added the agent. */
  readonly owner?: string | undefined;
  /** Of its registration; absent when it has no lease. */
  readonly epoch?: number | undefined;
  readonly leaseMs?: number | undefined;
  /** When its lease runs out, in milliseconds; absent where the engine alone knows. */
  readonly expiresAt?: number | undefined;
  readonly hold?: InstanceHold | undefined;
  /** Of its definition, where the engine knows it; made when needed otherwise. */
  readonly digest?: string | undefined;
}

export interface AgentInstance extends InstanceEntry {
  readonly health: Health;
}

export interface InstanceKey {
  readonly agent_id: string;
  readonly node_id: string;
}

/** An instance as an operator adds it: without an owner and a lease. */
export function toInstance(manifest: Manifest, revision = 0): InstanceEntry {
  return { manifest, revision, state: 'active' };
}

export function instanceKey({ agent_id, node_id }: InstanceKey): string {
  return `${agent_id}@${node_id}`;
}

/** Everything of a manifest that all instances of an agent must agree on. */
export function definitionOf(manifest: Manifest): Partial<Manifest> {
  const {
    node_id: _node,
    endpoint: _endpoint,
    version: _version,
    description: _description,
    region: _region,
    weight: _weight,
    ...definition
  } = manifest;
  return definition;
}

const digests = new WeakMap<Manifest, string>();

/** The same for manifests of equal definitions. */
export function definitionDigest(manifest: Manifest): string {
  const known = digests.get(manifest);
  if (known !== undefined) return known;
  const text = canonicalJson(definitionOf(manifest), { loneSurrogates: 'escape' });
  const digest = sha256Hex(text);
  digests.set(manifest, digest);
  return digest;
}

export const LEASE_EXPIRED: Health = Object.freeze({
  status: 'offline',
  checked_at: null,
  reason: 'lease_expired',
  message: 'The agent did not renew its lease',
});

const DISAGREES: InstanceHold = Object.freeze({
  reason: 'definition',
  message: 'Another instance registered a newer definition of the agent',
  fix: 'update this instance to the same capabilities, tier, tags and fallbacks',
});

/** The newest definition wins; of its instances the first that takes calls stands for the agent. */
export function findServed(instances: readonly InstanceEntry[]): InstanceEntry | undefined {
  const usable = instances.filter(({ hold }) => hold === undefined);
  if (usable.length <= 1) return usable[0];
  const newest = usable.reduce((best, one) => (one.revision > best.revision ? one : best));
  const agreeing = usable.filter((one) => digestOf(one) === digestOf(newest));
  return agreeing.find(({ state }) => state === 'active') ?? agreeing[0];
}

/** Why an instance takes no calls beside the one whose definition is served. */
export function holdBeside(
  instance: InstanceEntry,
  served: InstanceEntry | undefined,
): InstanceHold | undefined {
  if (instance.hold || !served || instance.manifest === served.manifest) return instance.hold;
  return digestOf(instance) === digestOf(served) ? undefined : DISAGREES;
}

function digestOf({ digest, manifest }: InstanceEntry): string {
  return digest ?? definitionDigest(manifest);
}

const BEST_FIRST: readonly HealthStatus[] = [
  'online',
  'degraded',
  'starting',
  'unknown',
  'offline',
];

/** Of the instances that may take calls. */
export function bestHealth(instances: readonly AgentInstance[]): Health {
  const usable = instances.filter(({ hold }) => !hold);
  return usable
    .map(({ health }) => health)
    .reduce((best, one) => {
      return BEST_FIRST.indexOf(one.status) < BEST_FIRST.indexOf(best.status) ? one : best;
    }, usable[0]?.health ?? UNKNOWN_HEALTH);
}
