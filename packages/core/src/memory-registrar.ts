// Registrations of one gateway, in its memory. Agents register again after it restarts: their heartbeats
// are refused then.

import type { Clock } from './clock.ts';
import type { Directory } from './directory.ts';
import type { Health } from './health.ts';
import type { InstanceEntry, InstanceKey } from './instance.ts';
import type { Manifest } from './manifest.ts';
import { RESERVED_AGENT_IDS } from './names.ts';
import type {
  HealthEntry,
  InstanceEpoch,
  RegisterOptions,
  Registrant,
  Registrar,
  Registration,
} from './ports/registry.ts';
import { assertCurrent, assertMayRegister, parseManifest } from './registration.ts';
import { skeletonOf } from './similar-names.ts';

export interface MemoryRegistrarOptions {
  readonly directory: Directory;
  readonly clock: Clock;
  /** Keeps what an operator adds without a lease. */
  readonly store?: {
    /** `check` throws when the change is refused; nothing else changes agents until it is done. */
    put(manifest: Manifest, check: () => void): Promise<void>;
    remove(agentId: string, nodeId: string | undefined): Promise<void>;
  };
}

const MAX_HISTORY = 200;
/** The longest that a timer may wait. */
const MAX_WAIT_MS = 60_000;

export class MemoryRegistrar implements Registrar {
  readonly #options: MemoryRegistrarOptions;
  readonly #removed = new Set<string>();
  readonly #history = new Map<string, HealthEntry[]>();
  #last = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryRegistrarOptions) {
    this.#options = options;
  }

  /** Instances with a lease: they are in no file. */
  leased(): InstanceEntry[] {
    return this.#options.directory.entries().filter(({ epoch }) => epoch !== undefined);
  }

  async register(
    given: Manifest,
    by: Registrant,
    options: RegisterOptions = {},
  ): Promise<Registration> {
    const manifest = parseManifest(given);
    const { leaseMs } = options;
    const { store } = this.#options;
    const check = () => this.#assertMayRegister(manifest, by, options);
    if (leaseMs === undefined && store) await store.put(manifest, check);
    else {
      check();
      this.#put(manifest, by, leaseMs);
    }
    if (by.isOperator) this.#removed.delete(manifest.agent_id);
    this.expire();
    const { agent_id, node_id } = manifest;
    const known = this.#options.directory.entriesOf(agent_id);
    const revision = known.find((entry) => entry.manifest.node_id === node_id)?.revision ?? 0;
    return { agent_id, node_id, epoch: revision, lease_ms: leaseMs ?? 0, revision };
  }

  async renew(instance: InstanceEpoch, by: Registrant): Promise<{ readonly expiresAt: number }> {
    const current = this.#current(instance, by);
    const expiresAt = this.#options.clock.now() + (current.leaseMs ?? 0);
    this.#options.directory.put({ ...current, expiresAt });
    return { expiresAt };
  }

  async drain(instance: InstanceEpoch, by: Registrant): Promise<void> {
    const current = this.#current(instance, by);
    if (current.state === 'draining') return;
    this.#options.directory.put({ ...current, revision: this.nextRevision(), state: 'draining' });
  }

  async leave(instance: InstanceEpoch, by: Registrant): Promise<void> {
    this.#current(instance, by);
    this.#options.directory.remove(instance.agent_id, instance.node_id);
  }

  async remove(agentId: string, nodeId: string | undefined, by: Registrant): Promise<boolean> {
    const { directory, store } = this.#options;
    const known = directory.entriesOf(agentId);
    const isThere = known.some(
      ({ manifest }) => nodeId === undefined || manifest.node_id === nodeId,
    );
    if (!isThere) return false;
    if (known.some(({ epoch }) => epoch === undefined)) await store?.remove(agentId, nodeId);
    directory.remove(agentId, nodeId);
    if (by.isOperator && nodeId === undefined) this.#removed.add(agentId);
    return true;
  }

  async history(agentId: string, limit: number): Promise<readonly HealthEntry[]> {
    return (this.#history.get(agentId) ?? []).slice(-limit).reverse();
  }

  /** Keeps a change of health. */
  note({ agent_id, node_id }: InstanceKey, health: Health, seen_by = 'local'): void {
    const { status, reason, message, latency_ms } = health;
    const at = health.checked_at ?? new Date(this.#options.clock.now()).toISOString();
    const entries = this.#history.get(agent_id) ?? [];
    entries.push({
      at,
      node_id,
      status,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
      ...(latency_ms !== undefined && { latency_ms }),
      seen_by,
    });
    if (entries.length > MAX_HISTORY) entries.shift();
    this.#history.set(agent_id, entries);
  }

  /** Ends the leases that ran out, and waits for the next one that will. */
  expire(): void {
    clearTimeout(this.#timer);
    const { directory, clock } = this.#options;
    const now = clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const instance of this.leased()) {
      const { expiresAt = 0, state, manifest } = instance;
      if (state === 'expired') continue;
      if (expiresAt > now) next = Math.min(next, expiresAt);
      else {
        directory.put({ ...instance, revision: this.nextRevision(), state: 'expired' });
        this.note(manifest, { status: 'offline', checked_at: null, reason: 'lease_expired' });
      }
    }
    if (!Number.isFinite(next)) return;
    this.#timer = setTimeout(() => this.expire(), Math.min(next - now, MAX_WAIT_MS)).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Higher than those of earlier runs: the clock starts the count. */
  nextRevision(): number {
    this.#last = Math.max(this.#last + 1, this.#options.clock.now());
    return this.#last;
  }

  #assertMayRegister(manifest: Manifest, by: Registrant, options: RegisterOptions): void {
    const { agent_id } = manifest;
    const instances = this.#options.directory.entriesOf(agent_id);
    const like = instances.length === 0 ? this.#findLike(agent_id) : undefined;
    const isRemoved = this.#removed.has(agent_id);
    assertMayRegister(manifest, by, options, { instances, isRemoved, like });
  }

  #put(manifest: Manifest, by: Registrant, leaseMs: number | undefined): void {
    const { directory, clock } = this.#options;
    const revision = this.nextRevision();
    const owned = by.isOperator ? {} : { owner: by.principal };
    const lease = { epoch: revision, leaseMs, expiresAt: clock.now() + (leaseMs ?? 0) };
    const isLeased = leaseMs !== undefined;
    directory.put({ manifest, revision, state: 'active', ...owned, ...(isLeased && lease) });
  }

  #current(instance: InstanceEpoch, by: Registrant): InstanceEntry {
    this.expire();
    return assertCurrent(instance, by, this.#options.directory.entriesOf(instance.agent_id));
  }

  #findLike(agentId: string): string | undefined {
    const skeleton = skeletonOf(agentId);
    const known = this.#options.directory.list().map(({ manifest }) => manifest.agent_id);
    return [...RESERVED_AGENT_IDS, ...known].find((id) => skeletonOf(id) === skeleton);
  }
}
