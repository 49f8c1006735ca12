// The end of a session: first it is ended, which no later write survives, then everything that
// hangs on it is freed, and after a while it is forgotten. Each step may be repeated; the timer of
// the session, which the store keeps, ensures that none is left out.

import { type Clock, type Json, RecentMap } from '@starloom/core';
import { partitionsBeside } from '../cache/cache-index.ts';
import type { CoordinationStore } from '../coordination-store.ts';
import { fieldsOf } from '../feed/log-event.ts';
import { freeLocks } from '../locks/free-locks.ts';
import { idsIn, keyOf, META, partitionOf, SESSIONS } from '../partitions.ts';
import type { Services } from '../services.ts';
import { changeEntries } from '../support/change-entries.ts';
import { inBatches } from '../support/in-batches.ts';
import { metaIn, readMembers, type SessionMeta } from './session-record.ts';

type SessionEndOptions = Pick<Services, 'store' | 'timers' | 'limits' | 'budgets' | 'sessionIndex'>;

const TURN_MS = 60_000;

export type EndReason = 'ended' | 'empty' | 'expired';

export class SessionEnd {
  readonly #options: SessionEndOptions;
  readonly #store: CoordinationStore;

  constructor(options: SessionEndOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  async end(sessionId: string, reason: EndReason, agentId: string | null): Promise<void> {
    const partition = partitionOf.session(sessionId);
    const ended = await changeEntries(this.#store, partition, [META], (current) => {
      const meta = metaIn(current);
      return meta && meta.state !== 'ended' ? toEndCommit(meta, reason, agentId) : undefined;
    });
    if (!ended && (await this.#meta(sessionId)) === undefined) return;
    await this.#free(sessionId, 'end');
    await this.#options.timers.start(sessionId, this.#options.limits.ended_session_ms);
  }

  /** Ends every session that a principal made; how many. In sessions of others it stays a member. */
  async endOwned(principalId: string): Promise<number> {
    let ended = 0;
    for (const sessionId of (await this.#options.sessionIndex.ofPrincipal(principalId)).keys()) {
      const meta = await this.#meta(sessionId);
      if (meta?.principal !== principalId || meta.state === 'ended') continue;
      await this.end(sessionId, 'ended', null);
      ended += 1;
    }
    return ended;
  }

  /** Ends a session without members if it is still as it was at `version`; whether it did. */
  async endEmpty(sessionId: string, version: number): Promise<boolean> {
    const partition = partitionOf.session(sessionId);
    const meta = await this.#meta(sessionId);
    if (meta === undefined) return false;
    const commit = toEndCommit(meta, 'empty', null);
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
    await this.#endOrForget(sessionId);
    await this.#store.release(SESSIONS, turn.lease);
  }

  async #endOrForget(sessionId: string): Promise<void> {
    const timer = keyOf.sessionTimer(sessionId);
    if ((await this.#store.read(SESSIONS, [timer])).entries.has(timer)) return;
    const meta = await this.#meta(sessionId);
    const state = meta?.state;
    if (state === 'suspended') return;
    if (state === 'active') return await this.end(sessionId, 'expired', null);
    if (state === 'ended') await this.#free(sessionId, 'remove');
    await this.#store.drop(partitionOf.session(sessionId));
    await this.#options.timers.forget(sessionId);
    if (meta) await this.#options.budgets.removeSession(meta.principal, sessionId);
  }

  async #meta(sessionId: string): Promise<SessionMeta | undefined> {
    return metaIn(await this.#store.read(partitionOf.session(sessionId), [META]));
  }

  /** Its members find it as ended, or not at all any more. */
  async #free(sessionId: string, inIndex: 'end' | 'remove'): Promise<void> {
    const partition = partitionOf.session(sessionId);
    await freeLocks(this.#store, partition, 'lost');
    const members = await readMembers(this.#store, partition);
    await inBatches(members, ({ agent_id: agentId, principal: principalId }) =>
      this.#options.sessionIndex[inIndex]({ agentId, principalId }, sessionId),
    );
    await Promise.all(partitionsBeside(sessionId).map((each) => this.#store.drop(each)));
  }
}

function toEndCommit(meta: SessionMeta, reason: EndReason, agentId: string | null) {
  const value = { ...meta, state: 'ended' } as const;
  return {
    writes: [{ kind: 'put', key: META, value }],
    event: { type: 'session.ended', agent_id: agentId, reason },
  } as const;
}

const SESSION_DUE = 'session.due';

/** A session that is used is given its whole time again after this part of it. */
const TOUCH_SHARE = 1 / 4;
const REMEMBERED = 10_000;

/**
 * The time that sessions have left. The store keeps it: an idle session ends, and an ended one is
 * forgotten, even when the process that began it is gone.
 */
export class SessionTimers {
  readonly #store: CoordinationStore;
  readonly #clock: Clock;
  readonly #touched = new RecentMap<number>(REMEMBERED);

  constructor(store: CoordinationStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async start(sessionId: string, ttlMs: number): Promise<void> {
    const key = keyOf.sessionTimer(sessionId);
    const onExpire = { type: SESSION_DUE, session_id: sessionId };
    await this.#store.commit(SESSIONS, {
      writes: [
        { kind: 'put', key: keyOf.openSession(sessionId), value: true },
        { kind: 'put', key, value: true, ttlMs, onExpire },
      ],
    });
    this.#touched.set(sessionId, this.#clock.monotonic());
  }

  /** The session is in use: it has its whole time again. */
  async touch(meta: SessionMeta): Promise<void> {
    if (this.isDue(meta)) await this.start(meta.session_id, meta.ttl_ms);
  }

  /** Is it time to touch it again? */
  isDue({ session_id, ttl_ms }: SessionMeta): boolean {
    const last = this.#touched.get(session_id);
    return last === undefined || this.#clock.monotonic() - last >= ttl_ms * TOUCH_SHARE;
  }

  async stop(sessionId: string): Promise<void> {
    const key = keyOf.sessionTimer(sessionId);
    await this.#store.commit(SESSIONS, { writes: [{ kind: 'delete', key }] });
    this.#touched.delete(sessionId);
  }

  async forget(sessionId: string): Promise<void> {
    const keys = [keyOf.openSession(sessionId), keyOf.sessionTimer(sessionId)];
    const writes = keys.map((key) => ({ kind: 'delete', key }) as const);
    await this.#store.commit(SESSIONS, { writes });
    this.#touched.delete(sessionId);
  }

  /** Sessions whose time is over or stands still. */
  async overdue(): Promise<readonly string[]> {
    const snapshot = await this.#store.read(SESSIONS);
    return idsIn(snapshot, keyOf.openSession('')).filter(
      (sessionId) => !snapshot.entries.has(keyOf.sessionTimer(sessionId)),
    );
  }
}

/** The session that an event of the sessions' log says is due. */
export function dueSession(event: Json): string | undefined {
  const { type, session_id } = fieldsOf(event);
  return type === SESSION_DUE ? String(session_id) : undefined;
}
