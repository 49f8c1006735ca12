// Keeps the health of every agent known: each is asked when it appears, an agent that is online now
// and then, one that is offline more often at first and then less.

import {
  type Clock,
  FabricError,
  type Health,
  type Log,
  type Manifest,
  orAborted,
  type Registry,
  toHealthReason,
} from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { AdapterPool } from './adapter-pool.ts';

export interface HealthMonitorOptions {
  readonly registry: Registry;
  readonly adapters: AdapterPool;
  readonly log: Log;
  readonly clock: Clock;
  readonly onHealth: (agentId: string, health: Health) => void;
  readonly onlineEveryMs?: number;
  readonly offlineEveryMs?: number;
  readonly offlineMaxMs?: number;
  readonly probeMs?: number;
  readonly atOnce?: number;
}

/** How long after its time an adapter may take to say so itself. */
const GRACE_MS = 1_000;

interface Watched {
  /** A changed manifest is another agent: it is due at once. */
  readonly manifest: Manifest;
  dueAt: number;
  waitMs: number;
}

export class HealthMonitor {
  readonly #options: Required<HealthMonitorOptions>;
  readonly #watched = new Map<string, Watched>();
  readonly #probing = new Set<string>();
  readonly #stop = new AbortController();
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HealthMonitorOptions) {
    this.#options = {
      onlineEveryMs: 30_000,
      offlineEveryMs: 1_000,
      offlineMaxMs: 30_000,
      probeMs: 5_000,
      atOnce: 8,
      ...options,
    };
  }

  start(): void {
    this.#unwatch = this.#options.registry.watch(() => this.#wake());
    this.#wake();
  }

  stop(): void {
    this.#unwatch?.();
    clearTimeout(this.#timer);
    this.#stop.abort(new FabricError('CANCELLED', 'The gateway is shutting down'));
  }

  /** Asks every agent that is due, and sets the timer for the next. */
  #wake(): void {
    if (this.#stop.signal.aborted) return;
    clearTimeout(this.#timer);
    const now = this.#options.clock.monotonic();
    const records = this.#options.registry.list();
    for (const agentId of this.#watched.keys()) {
      if (!records.some(({ manifest }) => manifest.agent_id === agentId))
        this.#watched.delete(agentId);
    }
    let next = this.#options.onlineEveryMs;
    for (const { manifest, health } of records) {
      const watched = this.#watch(manifest, health, now);
      const wait = watched.dueAt - now;
      if (wait > 0 || this.#probing.size >= this.#options.atOnce)
        next = Math.min(next, Math.max(wait, 50));
      else if (!this.#probing.has(manifest.agent_id)) void this.#probe(watched);
    }
    this.#timer = setTimeout(() => this.#wake(), next).unref();
  }

  /** A call that found an agent offline makes it due soon. */
  #watch(manifest: Manifest, { status }: Health, now: number): Watched {
    const known = this.#watched.get(manifest.agent_id);
    const isSame = known?.manifest === manifest;
    const watched = isSame ? known : { manifest, dueAt: now, waitMs: this.#options.offlineEveryMs };
    this.#watched.set(manifest.agent_id, watched);
    if (!isSame) return watched;
    if (status === 'offline') watched.dueAt = Math.min(watched.dueAt, now + watched.waitMs);
    return watched;
  }

  async #probe(watched: Watched): Promise<void> {
    const { registry, clock, log, onHealth } = this.#options;
    const { manifest } = watched;
    const { agent_id } = manifest;
    const isCurrent = () => registry.get(agent_id)?.manifest === manifest;
    this.#probing.add(agent_id);
    try {
      const health = await this.#ask(manifest);
      if (this.#stop.signal.aborted || !isCurrent()) return;
      this.#schedule(watched, health);
      onHealth(agent_id, health);
      await registry.updateHealth(agent_id, health);
    } catch (error) {
      watched.dueAt = clock.monotonic() + this.#options.onlineEveryMs;
      log.warn({ agent_id, error: FabricError.from(error) }, 'health could not be recorded');
    } finally {
      this.#probing.delete(agent_id);
      if (this.#probing.size === this.#options.atOnce - 1 || !isCurrent()) this.#wake();
    }
  }

  async #ask(manifest: Manifest): Promise<Health> {
    const { adapters, log, clock, probeMs } = this.#options;
    using deadline = deadlineSignal({ ms: probeMs, parent: this.#stop.signal });
    using patience = deadlineSignal({ ms: probeMs + GRACE_MS, parent: this.#stop.signal });
    const began = clock.monotonic();
    try {
      using lease = await adapters.lease(manifest);
      const health = await orAborted(
        lease.adapter.health({ signal: deadline.signal, log }),
        patience.signal,
      );
      const { latency_ms = clock.monotonic() - began } = health;
      return { ...health, latency_ms: Math.round(latency_ms) };
    } catch (error) {
      const checked_at = new Date(clock.now()).toISOString();
      return { status: 'offline', checked_at, ...toHealthReason(FabricError.from(error)) };
    }
  }

  #schedule(watched: Watched, { status }: Health): void {
    const { clock, onlineEveryMs, offlineEveryMs, offlineMaxMs } = this.#options;
    if (status === 'starting') watched.dueAt = clock.monotonic() + offlineEveryMs;
    else if (status === 'offline') {
      watched.dueAt = clock.monotonic() + watched.waitMs;
      watched.waitMs = Math.min(watched.waitMs * 2, offlineMaxMs);
    } else {
      watched.dueAt = clock.monotonic() + onlineEveryMs;
      watched.waitMs = offlineEveryMs;
    }
  }
}
