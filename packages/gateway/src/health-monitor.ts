// Keeps the health of every instance known: each is asked when it appears, one that is online now and
// then, one that is offline more often at first and then less. Probes are spread at random, and there are
// only so many in a second: a large fleet is asked less often, never faster. An instance whose lease ran
// out is not asked; its agent registers again. A program that no call uses is started for its probe, and
// ended after it: it is asked far less often.

import {
  type AgentInstance,
  type Clock,
  FabricError,
  type Health,
  instanceKey,
  type Log,
  type Manifest,
  orAborted,
  type Registry,
  toHealthReason,
} from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { AdapterPool } from './adapter-pool.ts';
import { instancesOf } from './pipeline/instances.ts';
import { failure } from './reasons.ts';

interface HealthMonitorOptions {
  readonly registry: Registry;
  readonly adapters: AdapterPool;
  readonly log: Log;
  readonly clock: Clock;
  readonly onHealth: (agentId: string, health: Health) => void;
  /** How long the first probes let the first requests go before them. */
  readonly firstProbesMs?: number | undefined;
  readonly onlineEveryMs?: number;
  readonly offlineEveryMs?: number;
  readonly offlineMaxMs?: number;
  readonly probeMs?: number;
  readonly atOnce?: number;
  /** Of all instances together. */
  readonly probesPerSecond?: number;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/** How long after its time an adapter may take to say so itself. */
const GRACE_MS = 1_000;

/** Waits are longer or shorter by this part, so that gateways do not ask in step. */
const JITTER = 0.2;
/** Between probes of a program that only they start, as a multiple of the ordinary wait. */
const IDLE_PROGRAM_WAITS = 10;
/** Changes that come together are looked at once. */
const WAKE_MS = 50;
/** A look at so many instances costs far less than a millisecond of each second. */
const INSTANCES_PER_MS = 100;

interface Watched {
  /** A changed manifest is another instance: it is due at once. */
  readonly manifest: Manifest;
  dueAt: number;
  waitMs: number;
  isProbing: boolean;
}

export class HealthMonitor {
  readonly #options: Required<HealthMonitorOptions>;
  #watched = new Map<string, Watched>();
  readonly #stop = new AbortController();
  #probing = 0;
  /** Probes that may begin now; refilled as time goes by. */
  #tokens: number;
  #tokensAt: number;
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Number.POSITIVE_INFINITY;
  /** The least between two looks at all instances: a look costs more the more there are. */
  #restMs = WAKE_MS;

  constructor(options: HealthMonitorOptions) {
    this.#options = {
      onlineEveryMs: 30_000,
      offlineEveryMs: 1_000,
      offlineMaxMs: 30_000,
      probeMs: 5_000,
      atOnce: 8,
      probesPerSecond: 50,
      random: Math.random,
      firstProbesMs: 0,
      ...options,
    };
    this.#tokens = this.#options.probesPerSecond;
    this.#tokensAt = this.#options.clock.monotonic();
  }

  start(): void {
    const { registry, firstProbesMs = 0 } = this.#options;
    this.#unwatch = registry.watch(() => this.#wakeIn(WAKE_MS));
    if (firstProbesMs === 0) this.#wake();
    else this.#wakeIn(firstProbesMs);
  }

  stop(): void {
    this.#unwatch?.();
    clearTimeout(this.#timer);
    this.#stop.abort(failure('shutting_down/waiting'));
  }

  /** Asks every instance of the agent now. */
  async check(agentId: string): Promise<void> {
    const own = [...this.#watched.values()].filter(
      ({ manifest, isProbing }) => manifest.agent_id === agentId && !isProbing,
    );
    await Promise.all(own.map((watched) => this.#probe(watched)));
  }

  /** Asks every instance that is due, as far as the budget goes, and sets the timer for the next. */
  #wake(): void {
    if (this.#stop.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#wakesAt = Number.POSITIVE_INFINITY;
    const { registry, clock, onlineEveryMs, atOnce } = this.#options;
    const now = clock.monotonic();
    this.#refill(now);
    const watched = new Map<string, Watched>();
    let next = onlineEveryMs;
    for (const record of registry.list()) {
      for (const instance of instancesOf(record)) {
        if (instance.hold || instance.state === 'expired') continue;
        const key = instanceKey(instance.manifest);
        const one = this.#watch(key, instance, now);
        watched.set(key, one);
        if (one.isProbing) continue;
        const wait = one.dueAt - now;
        if (wait > 0) next = Math.min(next, Math.max(wait, WAKE_MS));
        else if (this.#probing >= atOnce || this.#tokens < 1) next = Math.min(next, 2 * WAKE_MS);
        else void this.#probe(one);
      }
    }
    this.#watched = watched;
    this.#restMs = Math.max(WAKE_MS, watched.size / INSTANCES_PER_MS);
    this.#wakeIn(next);
  }

  /** At once or later; an earlier time that is set already stays. */
  #wakeIn(waitMs: number): void {
    const ms = this.#restMs > WAKE_MS ? Math.max(waitMs, this.#restMs) : waitMs;
    const at = this.#options.clock.monotonic() + ms;
    if (this.#stop.signal.aborted || at >= this.#wakesAt) return;
    clearTimeout(this.#timer);
    this.#wakesAt = at;
    this.#timer = setTimeout(() => this.#wake(), ms).unref();
  }

  #refill(now: number): void {
    const { probesPerSecond } = this.#options;
    const more = ((now - this.#tokensAt) / 1_000) * probesPerSecond;
    this.#tokens = Math.min(probesPerSecond, this.#tokens + more);
    this.#tokensAt = now;
  }

  /** A call that found an instance offline makes it due soon. */
  #watch(key: string, { manifest, health }: AgentInstance, now: number): Watched {
    const known = this.#watched.get(key);
    if (known?.manifest !== manifest) {
      const waitMs = this.#options.offlineEveryMs;
      return { manifest, dueAt: now, waitMs, isProbing: false };
    }
    // Its node is back.
    if (health.status === 'unknown') known.dueAt = now;
    if (health.status === 'offline') known.dueAt = Math.min(known.dueAt, now + known.waitMs);
    return known;
  }

  async #probe(watched: Watched): Promise<void> {
    const { registry, clock, log, onHealth } = this.#options;
    const { manifest } = watched;
    const { agent_id, node_id } = manifest;
    this.#probing += 1;
    this.#tokens -= 1;
    watched.isProbing = true;
    try {
      const health = await this.#ask(manifest);
      const record = registry.get(agent_id);
      const isCurrent = record && instancesOf(record).some((one) => one.manifest === manifest);
      if (this.#stop.signal.aborted || !isCurrent) return;
      this.#schedule(watched, health);
      await registry.updateHealth(agent_id, health, node_id);
      onHealth(agent_id, registry.get(agent_id)?.health ?? health);
    } catch (error) {
      watched.dueAt = clock.monotonic() + this.#options.onlineEveryMs;
      log.warn({ agent_id, error: FabricError.from(error) }, 'health could not be recorded');
    } finally {
      this.#probing -= 1;
      watched.isProbing = false;
      this.#wakeIn(this.#probing === this.#options.atOnce - 1 ? 0 : WAKE_MS);
    }
  }

  async #ask(manifest: Manifest): Promise<Health> {
    const { adapters, log, clock, probeMs } = this.#options;
    using deadline = deadlineSignal({ ms: probeMs, parent: this.#stop.signal });
    using patience = deadlineSignal({ ms: probeMs + GRACE_MS, parent: this.#stop.signal });
    const began = clock.monotonic();
    try {
      using lease = await adapters.probe(manifest);
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
    const { clock, adapters, onlineEveryMs, offlineEveryMs, offlineMaxMs, random } = this.#options;
    const { manifest } = watched;
    const isIdle = manifest.endpoint.transport !== 'http' && !adapters.isOpen(manifest);
    let waitMs = isIdle ? onlineEveryMs * IDLE_PROGRAM_WAITS : onlineEveryMs;
    if (status === 'starting') waitMs = offlineEveryMs;
    else if (status === 'offline') {
      waitMs = watched.waitMs;
      watched.waitMs = Math.min(watched.waitMs * 2, offlineMaxMs);
    } else watched.waitMs = offlineEveryMs;
    watched.dueAt = clock.monotonic() + waitMs * (1 - JITTER + 2 * JITTER * random());
  }
}
