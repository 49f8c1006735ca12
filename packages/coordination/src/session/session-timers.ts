// The time that sessions have left, kept by the store: an idle session ends and an ended one is
// forgotten even if no process of today is there any more.

import type { Clock, Json } from '@starloom/core';
import { RecentMap } from '@starloom/core';
import type { CoordinationStore } from '../coordination-store.ts';
import { fieldsOf } from '../feed/log-event.ts';
import { keyOf, SESSIONS } from '../partitions.ts';
import type { SessionMeta } from './session-record.ts';

const SESSION_DUE = 'session.due';

/** A session that is used is given its whole time again after this part of it. */
const TOUCH_SHARE = 1 / 4;
const REMEMBERED = 10_000;

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

  /** Its time stands still. */
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
    const { entries } = await this.#store.read(SESSIONS);
    const prefix = keyOf.openSession('');
    return [...entries.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length))
      .filter((sessionId) => !entries.has(keyOf.sessionTimer(sessionId)));
  }
}

/** The session that an event of the sessions' log says is due. */
export function dueSession(event: Json): string | undefined {
  const { type, session_id } = fieldsOf(event);
  return type === SESSION_DUE ? String(session_id) : undefined;
}
