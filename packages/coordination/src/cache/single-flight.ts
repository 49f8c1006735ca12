// One caller computes, the others wait for it. The caller that computes holds a lease on the key of
// the result; if it dies, the lease ends and the next in the queue computes. When a claim began is
// written down before it is given out, as a version of the cache: what is invalidated after that is
// newer than the result.

import { type Json, orAborted } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { CoordinationStore, Entry, Idempotency, Lease } from '../coordination-store.ts';
import { type EventFeeds, LogWatch } from '../feed/event-feed.ts';
import { fieldsOf, isTurnOf } from '../feed/log-event.ts';
import { findLease, giveUp } from '../locks/lock-queue.ts';
import { failure } from '../reasons.ts';
import { claimKey } from './cache-index.ts';

export type CacheAnswer =
  | { readonly hit: true; readonly result: Json; readonly at: number; readonly agent_id: string }
  | {
      readonly hit: false;
      /** The version of the cache at which there was no result. */
      readonly since: number;
      readonly computing?: true;
      /** The caller is the one that computes, until `expires_at`. */
      readonly claim?: number;
      readonly expires_at?: number;
    };

/** One possible result, and in whose name it is asked for. */
export interface CacheTarget {
  readonly partition: string;
  readonly key: string;
  readonly holder: string;
}

export interface Flight {
  readonly claim_ttl_ms: number;
  readonly wait_ms: number;
  readonly idempotency?: Idempotency | undefined;
}

export interface SingleFlightOptions {
  readonly store: CoordinationStore;
  readonly feeds: EventFeeds;
  readonly lookUp: (target: CacheTarget) => Promise<CacheAnswer>;
}

export class SingleFlight {
  readonly #options: SingleFlightOptions;

  constructor(options: SingleFlightOptions) {
    this.#options = options;
  }

  /** The result if it comes in time; else the claim on it, or that another caller has the claim. */
  async join(target: CacheTarget, flight: Flight, parent?: AbortSignal): Promise<CacheAnswer> {
    const { store, feeds, lookUp } = this.#options;
    const { partition, key, holder } = target;
    let ticket: string | undefined;
    const isNews = (event: Json) => isTurnOf(event, ticket) || fieldsOf(event).key === key;
    using watch = await LogWatch.open(feeds, partition, isNews);
    using deadline = deadlineSignal({ ms: flight.wait_ms, parent });
    const answer = await store.acquire(partition, {
      resource: key,
      holder,
      mode: 'exclusive',
      ttlMs: flight.claim_ttl_ms,
      waitMs: flight.wait_ms,
      idempotency: flight.idempotency,
    });
    if ('reused' in answer) throw failure('idempotency_key_reused');
    if ('lease' in answer) return await this.#computeOrUse(target, answer.lease, flight, parent);
    if ('heldBy' in answer) return othersCompute(await lookUp(target));
    ticket = answer.queued.ticket;
    while (!deadline.signal.aborted) {
      const found = await lookUp(target);
      if (found.hit) break;
      const lease = await findLease(store, { partition, resource: key, ticket });
      if (lease) return await this.#computeOrUse(target, lease, flight, parent);
      await orAborted(watch.news(), deadline.signal).catch(() => undefined);
    }
    await giveUp(store, { partition, resource: key, ticket });
    return othersCompute(await lookUp(target));
  }

  /** The claim with this token, if it is the target's holder's. */
  async claimOf(
    { partition, key, holder }: CacheTarget,
    token: number,
  ): Promise<Lease | undefined> {
    const leases = await this.#options.store.leases(partition, key);
    return leases.find((lease) => lease.token === token && lease.holder === holder);
  }

  /** The version of the cache at which the claim began; 0 when that is not known. */
  async beganAt(target: CacheTarget, { token }: Lease): Promise<number> {
    const began = await this.#begin(target);
    return began?.value === token ? began.version : 0;
  }

  /** While the claim was waited for, the result may have come, or the caller may have left. */
  async #computeOrUse(
    target: CacheTarget,
    lease: Lease,
    flight: Flight,
    parent: AbortSignal | undefined,
  ): Promise<CacheAnswer> {
    const { store, lookUp } = this.#options;
    const found = await lookUp(target);
    if (!found.hit) await this.#noteBegin(target, lease, flight.claim_ttl_ms);
    if (found.hit || parent?.aborted) {
      await store.release(target.partition, lease);
      return found;
    }
    return { ...found, claim: lease.token, expires_at: lease.expiresAt };
  }

  /** Once per claim, also when it is answered again; not for a claim that is over already. */
  async #noteBegin(target: CacheTarget, lease: Lease, ttlMs: number): Promise<void> {
    const { partition } = target;
    const { token: value } = lease;
    const key = claimKey(target.key);
    for (;;) {
      const last = await this.#begin(target);
      if (last?.value === value) return;
      const answer = await this.#options.store.commit(partition, {
        writes: [{ kind: 'put', key, value, ttlMs }],
        ifKeys: new Map([[key, last?.version ?? 0]]),
        fence: lease,
      });
      if (answer.ok || answer.reason !== 'conflict') return;
    }
  }

  async #begin({ partition, key }: CacheTarget): Promise<Entry | undefined> {
    const { entries } = await this.#options.store.read(partition, [claimKey(key)]);
    return entries.get(claimKey(key));
  }
}

function othersCompute(answer: CacheAnswer): CacheAnswer {
  return answer.hit ? answer : { ...answer, computing: true };
}
