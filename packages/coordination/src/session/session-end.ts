// The end of a session: first it is ended, which no later write survives, then everything that
// hangs on it is freed, and after a while it is forgotten. Each step may be repeated; the timer of
// the session, which the store keeps, sees to it that none is left out.

import type { Budgets } from '../budgets.ts';
import { sessionCacheScope } from '../cache/cache-entry.ts';
import type { CoordinationStore } from '../coordination-store.ts';
import { freeEverybody } from '../locks/free-locks.ts';
import { keyOf, META, partitionOf, SESSIONS } from '../partitions.ts';
import type { CoordinationLimits } from '../quota/limits.ts';
import type { Services } from '../services.ts';
import { inBatches } from '../support/in-batches.ts';
import { SessionIndex } from './session-index.ts';
import { metaSchema, readMembers, type SessionMeta } from './session-record.ts';
import type { SessionTimers } from './session-timers.ts';

type SessionEndOptions = Pick<Services, 'store' | 'timers' | 'limits' | 'budgets'>;

const TURN_MS = 60_000;

export type EndReason = 'ended' | 'empty' | 'expired';

export class SessionEnd {
  readonly #store: CoordinationStore;
  readonly #timers: SessionTimers;
  readonly #limits: CoordinationLimits;
  readonly #budgets: Budgets;
  readonly #index: SessionIndex;

  constructor({ store, timers, limits, budgets }: SessionEndOptions) {
    this.#store = store;
    this.#budgets = budgets;
    this.#timers = timers;
    this.#limits = limits;
    this.#index = new SessionIndex(store, limits);
  }

  async end(sessionId: string, reason: EndReason, agentId: string | null): Promise<void> {
    const partition = partitionOf.session(sessionId);
    for (;;) {
      const { entries } = await this.#store.read(partition, [META]);
      const entry = entries.get(META);
      if (entry === undefined) return;
      const meta = metaSchema.parse(entry.value);
      if (meta.state === 'ended') break;
      const commit = ending(meta, reason, agentId);
      const ifKeys = new Map([[META, entry.version]]);
      const { ok } = await this.#store.commit(partition, { ...commit, ifKeys });
      if (ok) break;
    }
    await this.#free(sessionId, 'end');
    await this.#timers.start(sessionId, this.#limits.ended_session_ms);
  }

  /** Ends a session without members if it is still as it was at `version`; whether it did. */
  async endEmpty(sessionId: string, version: number): Promise<boolean> {
    const partition = partitionOf.session(sessionId);
    const { entries } = await this.#store.read(partition, [META]);
    const entry = entries.get(META);
    if (entry === undefined) return false;
    const commit = ending(metaSchema.parse(entry.value), 'empty', null);
    const { ok } = await this.#store.commit(partition, { ...commit, ifVersion: version });
    if (ok) await this.end(sessionId, 'empty', null);
    return ok;
  }

  /**
   * The time of a session is over: one in use ends, an ended one is forgotten. One process at a time
   * does so, lest a slow one forgets another session that was made under the same id meanwhile.
   */
  async due(sessionId: string): Promise<void> {
    const resource = keyOf.sessionTimer(sessionId);
    const request = { resource, holder: 'sweeper', mode: 'exclusive', ttlMs: TURN_MS } as const;
    const turn = await this.#store.acquire(SESSIONS, request);
    if (!('lease' in turn)) return;
    await this.#seeTo(sessionId);
    await this.#store.release(SESSIONS, turn.lease);
  }

  async #seeTo(sessionId: string): Promise<void> {
    const timer = keyOf.sessionTimer(sessionId);
    if ((await this.#store.read(SESSIONS, [timer])).entries.has(timer)) return;
    const partition = partitionOf.session(sessionId);
    const entry = (await this.#store.read(partition, [META])).entries.get(META);
    const meta = entry && metaSchema.parse(entry.value);
    const state = meta?.state;
    if (state === 'suspended') return;
    if (state === 'active') return await this.end(sessionId, 'expired', null);
    if (state === 'ended') await this.#free(sessionId, 'remove');
    await this.#store.drop(partition);
    await this.#timers.forget(sessionId);
    if (meta) await this.#budgets.removeSession(meta.principal, sessionId);
  }

  /** Its members find it as ended, or not at all any more. */
  async #free(sessionId: string, inIndex: 'end' | 'remove'): Promise<void> {
    const partition = partitionOf.session(sessionId);
    await freeEverybody(this.#store, partition);
    const members = await readMembers(this.#store, partition);
    await inBatches(members, ({ agent_id: agentId, principal: principalId }) =>
      this.#index[inIndex]({ agentId, principalId }, sessionId),
    );
    const scope = sessionCacheScope(sessionId);
    await Promise.all([
      this.#store.drop(partitionOf.history(sessionId)),
      this.#store.drop(partitionOf.chunks(sessionId)),
      this.#store.drop(partitionOf.chunkBodies(sessionId)),
      this.#store.drop(partitionOf.cache(scope)),
      this.#store.drop(partitionOf.cacheIndex(scope)),
    ]);
  }
}

function ending(meta: SessionMeta, reason: EndReason, agentId: string | null) {
  const value = { ...meta, state: 'ended' } as const;
  return {
    writes: [{ kind: 'put', key: META, value }],
    event: { type: 'session.ended', agent_id: agentId, reason },
  } as const;
}
