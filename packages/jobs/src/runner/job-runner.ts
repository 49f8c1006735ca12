// Claims jobs as long as there is room, runs them, and keeps their leases. Any number of runners may
// share an engine.

import {
  type Claim,
  type Clock,
  type JobEngine,
  type Log,
  silentLog,
  systemClock,
} from '@starloom/core';
import { settlesWithin } from '@starloom/wire';
import { ClaimRun, type ClaimRunOptions } from './claim-run.ts';
import type { CancelUpstream, RunJob } from './run-job.ts';
import type { WebhookSender } from './webhook-sender.ts';

export interface JobRunnerOptions {
  readonly engine: JobEngine;
  readonly run: RunJob;
  readonly cancelUpstream?: CancelUpstream;
  readonly webhooks?: WebhookSender;
  /** Jobs that run here at once. */
  readonly concurrency?: number;
  /** Jobs of one agent that run at once, over all runners of the engine. */
  readonly perAgent?: number;
  readonly leaseMs?: number;
  /** How often it looks for work when it got no hint. */
  readonly pollMs?: number;
  readonly cancelGraceMs?: number;
  /** Deletes jobs that ended before so long; never when it is not given. */
  readonly keepMs?: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

const PRUNE_EVERY_MS = 60_000;
const PRUNE_AT_ONCE = 500;
/** A job that changes often is looked at no more often than this. */
const LOOK_EVERY_MS = 100;
const WEBHOOKS_AT_ONCE = 16;
/**
 * So many jobs at once may have begun this short ago. Quick ones are done by then, and others do not wait while
 * hundreds of them go on together; of slow ones more than a thousand can begin in a second.
 */
const FRESH_JOBS = 32;
const FRESH_MS = 25;

export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #engine: JobEngine;
  readonly #runOptions: ClaimRunOptions;
  readonly #log: Log;
  readonly #leaseMs: number;
  readonly #concurrency: number;
  readonly #active = new Map<ClaimRun, Promise<void>>();
  #fresh = 0;
  readonly #deliveries = new Set<Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];
  #stopHints: () => void = () => {};
  #isStopped = false;
  #isClaiming = false;
  #isDueAgain = false;
  #pruning: Promise<void> = Promise.resolve();
  /** On the monotonic clock. */
  #renewedAt = 0;

  constructor(options: JobRunnerOptions) {
    const { clock = systemClock, log = silentLog, cancelGraceMs = 10_000 } = options;
    this.#options = options;
    this.#engine = options.engine;
    this.#log = log;
    this.#leaseMs = options.leaseMs ?? 30_000;
    this.#concurrency = options.concurrency ?? 256;
    const { engine, run, cancelUpstream } = options;
    const leaseMs = this.#leaseMs;
    this.#runOptions = { engine, run, cancelUpstream, leaseMs, cancelGraceMs, clock, log };
  }

  get active(): number {
    return this.#active.size;
  }

  start(): void {
    const { pollMs = 1_000, keepMs } = this.#options;
    this.#stopHints = this.#engine.onReady(() => this.#wake());
    this.#every(pollMs, () => this.#wake());
    this.#every(this.#leaseMs / 3, () => void this.#renew());
    if (keepMs !== undefined) {
      this.#every(PRUNE_EVERY_MS, () => {
        this.#pruning = this.#pruning.then(() => this.#prune(keepMs));
      });
    }
    this.#wake();
  }

  /** Claims nothing more; waits for what runs, then gives back what can go on elsewhere. */
  async stop({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#isStopped = true;
    this.#stopHints();
    await settlesWithin(Promise.all([...this.#active.values(), ...this.#deliveries]), graceMs);
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([...this.#active.keys()].map((run) => run.abandon()));
    await Promise.all([...this.#active.values(), this.#pruning]);
  }

  #every(ms: number, work: () => void): void {
    this.#timers.push(setInterval(work, ms));
  }

  #wake(): void {
    if (this.#isClaiming) this.#isDueAgain = true;
    else void this.#claimAll();
  }

  async #claimAll(): Promise<void> {
    this.#isClaiming = true;
    do {
      this.#isDueAgain = false;
      try {
        await this.#claimRuns();
        await this.#claimWebhooks();
      } catch (err) {
        this.#log.warn({ err }, 'jobs: cannot claim');
      }
    } while (this.#isDueAgain && !this.#isStopped);
    this.#isClaiming = false;
  }

  async #claimRuns(): Promise<void> {
    const { perAgent } = this.#options;
    // After a pause of this process its own jobs may look abandoned: it must not claim those.
    const sinceMs = this.#runOptions.clock.monotonic() - this.#renewedAt;
    if (this.#active.size > 0 && sinceMs > this.#leaseMs / 2) await this.#renew();
    for (;;) {
      const limit = this.#room();
      if (limit === 0 || this.#isStopped) return;
      const options = { leaseMs: this.#leaseMs, limit };
      const claims = await this.#engine.claim({
        ...options,
        ...(perAgent !== undefined && { perAgent }),
      });
      for (const claim of claims) this.#begin(claim);
      if (claims.length < limit) return;
    }
  }

  /** For how many jobs; to claim them one by one costs as much for each as for half of them together. */
  #room(): number {
    const fresh = FRESH_JOBS - this.#fresh;
    if (fresh < FRESH_JOBS / 2) return 0;
    return Math.max(0, Math.min(fresh, this.#concurrency - this.#active.size));
  }

  #begin(claim: Claim): void {
    const run = new ClaimRun(claim, this.#runOptions);
    let looking: NodeJS.Timeout | undefined;
    const look = () => {
      looking ??= setTimeout(() => {
        looking = undefined;
        void run.look();
      }, LOOK_EVERY_MS);
    };
    if (this.#active.size === 0) this.#renewedAt = this.#runOptions.clock.monotonic();
    const stopWatching = this.#engine.watch(claim.job.id, look);
    this.#fresh += 1;
    let isFresh = true;
    const grow = () => {
      if (isFresh) this.#fresh -= 1;
      isFresh = false;
      if (this.#room() > 0) this.#wake();
    };
    const growing = setTimeout(grow, FRESH_MS);
    const done = run.work().finally(() => {
      stopWatching();
      clearTimeout(looking);
      clearTimeout(growing);
      this.#active.delete(run);
      grow();
    });
    this.#active.set(run, done);
  }

  async #renew(): Promise<void> {
    const runs = [...this.#active.keys()];
    if (runs.length === 0) return;
    try {
      const claims = runs.map(({ claim }) => claim);
      const renewals = await this.#engine.renew(claims, this.#leaseMs);
      this.#renewedAt = this.#runOptions.clock.monotonic();
      for (const [index, run] of runs.entries()) {
        const renewal = renewals[index];
        if (!this.#active.has(run) || renewal === undefined) continue;
        if (!renewal.held) await this.#loseUnlessOver(run);
        else if (renewal.cancelRequested && run.claim.mode !== 'cancel') void run.cancel();
        // The hint may have been lost, or the engine was down when it came.
        else if (run.isParked) void run.look();
      }
    } catch (err) {
      this.#log.warn({ err }, 'jobs: cannot renew leases');
    }
  }

  /** A run that has ended its job no longer holds it either. */
  async #loseUnlessOver(run: ClaimRun): Promise<void> {
    const over = this.#active.get(run);
    if (over !== undefined && !(await settlesWithin(over, 50))) run.lose();
  }

  async #claimWebhooks(): Promise<void> {
    const { webhooks } = this.#options;
    const limit = WEBHOOKS_AT_ONCE - this.#deliveries.size;
    if (webhooks === undefined || limit <= 0 || this.#isStopped) return;
    const claims = await this.#engine.claim({ purpose: 'webhook', leaseMs: this.#leaseMs, limit });
    for (const claim of claims) {
      const delivery = webhooks.deliver(claim, this.#engine).finally(() => {
        this.#deliveries.delete(delivery);
        this.#wake();
      });
      this.#deliveries.add(delivery);
    }
  }

  async #prune(keepMs: number): Promise<void> {
    const before = this.#runOptions.clock.now() - keepMs;
    try {
      while (!this.#isStopped) {
        const deleted = await this.#engine.prune({ before, limit: PRUNE_AT_ONCE });
        if (deleted < PRUNE_AT_ONCE) return;
      }
    } catch (err) {
      this.#log.warn({ err }, 'jobs: cannot delete old jobs');
    }
  }
}
