// Follows what is asked, answered and pushed about the locks of the client's agent, and tells each
// loss once. The time of a lease is counted from before it was asked for, so the client never
// believes in one for longer than the server does, save for a wait, whose end only the server knows.

import { FabricError, type Log } from '@starloom/core';
import { RecentMap } from '../support/recent-map.ts';
import { type HeldLock, HeldLocks, lockId } from './held-locks.ts';
import type { Send } from './link.ts';
import { rpcCodeOf } from './rpc-error.ts';
import type { MethodResult } from './services.ts';

export interface LostLock extends HeldLock {
  /**
   * `expired` and `broken` as the server says it, or by the client's own clock; `gone` when it was
   * not there any more; `new_life` when the agent was lost; `closed` when the client was closed.
   */
  readonly reason: string;
}

export interface LeasesOptions {
  readonly agentId: string;
  readonly log: Log;
  readonly tell: (lost: LostLock) => void;
}

type Fields = Readonly<Record<string, unknown>>;
/** A push also says whose lock it is. */
type OfAgent<Lock> = Lock & { readonly agent_id?: string };

/** What was asked for by a ticket, and what it was granted. */
interface Ticket {
  readonly ttlMs?: number;
  readonly lock?: HeldLock;
}

/** As the server takes it. */
const TTL_MS = 60_000;
const MARGIN_MS = 1_000;
const MARGIN_SHARE = 1 / 20;
const REMEMBERED = 1_000;
/** By which an agent gives up all that it holds, in a session or altogether. */
const LEAVING = ['memory_locker.release_all', 'session_manager.leave', 'agent_registry.unregister'];
/** The token is stale, or there is no such session for the agent. */
const GONE = [-32015, -32004];

/** A lease counts as over this much before its time, so that nothing is begun at the end of it. */
export function leaseMargin(ttlMs: number): number {
  return Math.min(MARGIN_MS, ttlMs * MARGIN_SHARE);
}

type Ending = 'told' | 'given up';

export class Leases {
  readonly #options: LeasesOptions;
  readonly #held = new HeldLocks((lock) => this.#lose({ ...lock, reason: 'expired' }));
  readonly #ended = new RecentMap<Ending>(REMEMBERED);
  readonly #tickets = new RecentMap<Ticket>(REMEMBERED);

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** What the agent gives up is not lost, whenever the server hears of it. */
  asked(method: string, params: Fields): void {
    if (!this.#isOwn(params)) return;
    if (method === 'memory_locker.release') this.#giveUp(toLock(params));
    if (method === 'memory_locker.cancel') this.#giveUpTicket(String(params.ticket));
    if (!LEAVING.includes(method)) return;
    for (const lock of this.#held.list(params.session_id)) this.#giveUp(lock);
  }

  answered(method: string, params: Fields, result: unknown, askedAt: number): void {
    if (!this.#isOwn(params)) return;
    const fields = { ...params, ...(result as Fields) };
    const ttlMs = Number(params.ttl_ms ?? TTL_MS);
    if (method === 'memory_locker.renew') this.#keep(toLock(fields), leaseEnd(askedAt, ttlMs));
    if (method !== 'memory_locker.acquire') return;
    if (fields.queued === true) this.#queued(String(fields.ticket), ttlMs);
    else this.#acquired(toLock(fields), leaseEnd(grantedAt(params, askedAt), ttlMs));
  }

  refused(method: string, params: Fields, error: unknown): void {
    if (method !== 'memory_locker.renew' || !this.#isOwn(params)) return;
    if (GONE.includes(rpcCodeOf(error) ?? 0)) this.#loseIfHeld(toLock(params), 'gone');
  }

  /** It was pushed that it is the turn of a request that waited, with a ticket or for its answer. */
  granted(pushed: OfAgent<HeldLock & { readonly ticket: string }>): void {
    if (!this.#isOwn(pushed)) return;
    const lock = toLock({ ...pushed });
    const { ttlMs } = this.#tickets.get(pushed.ticket) ?? {};
    this.#tickets.set(pushed.ticket, { ...(ttlMs !== undefined && { ttlMs }), lock });
    if (ttlMs !== undefined) this.#keep(lock, leaseEnd(performance.now(), ttlMs));
    else if (!this.#held.has(lock)) this.#keep(lock);
  }

  /** It was pushed that a lock is lost. */
  lost(pushed: OfAgent<LostLock>): void {
    if (this.#isOwn(pushed)) this.#lose(pushed);
    else this.#options.tell(pushed);
  }

  loseAll(reason: string): void {
    for (const lock of this.#held.list()) this.#loseIfHeld(lock, reason);
  }

  /** Asks whether what is believed to be held is held, in a session or in all. */
  async confirm(send: Send, sessionId?: string): Promise<void> {
    const sessions = new Set(this.#held.list(sessionId).map(({ session_id }) => session_id));
    for (const session_id of sessions) {
      const believed = this.#held.list(session_id);
      const tokens = await this.#tokensIn(send, session_id);
      for (const lock of believed) {
        if (!tokens.has(lockId(lock))) this.#loseIfHeld(lock, 'gone');
      }
    }
  }

  async #tokensIn(send: Send, session_id: string): Promise<ReadonlySet<string>> {
    try {
      const answer = await send('memory_locker.status', { session_id });
      const { locks } = answer as MethodResult<'memory_locker.status'>;
      return new Set(
        locks.map(({ resource, lock_token = 0 }) => lockId({ session_id, resource, lock_token })),
      );
    } catch (thrown) {
      const code = rpcCodeOf(thrown);
      if (code === undefined) throw thrown;
      if (GONE.includes(code)) return new Set();
      const error = FabricError.from(thrown);
      this.#options.log.warn({ error, session_id }, 'coordination: locks could not be confirmed');
      return new Set(this.#held.list(session_id).map(lockId));
    }
  }

  /** One that was pushed as lost before the answer is told again, to who did not know it then. */
  #acquired(lock: HeldLock, until: number): void {
    const isLost = this.#ended.get(lockId(lock)) === 'told';
    this.#keep(lock, isLost ? performance.now() : until);
  }

  /** The grant may have been pushed before the answer with the ticket. */
  #queued(ticket: string, ttlMs: number): void {
    const { lock } = this.#tickets.get(ticket) ?? {};
    this.#tickets.set(ticket, { ttlMs, ...(lock && { lock }) });
    if (lock && this.#held.has(lock)) this.#keep(lock, leaseEnd(performance.now(), ttlMs));
  }

  /** What was given up stays so, even if a renewal that was under way is confirmed. */
  #keep(lock: HeldLock, until?: number): void {
    if (this.#ended.get(lockId(lock)) === 'given up') return;
    this.#ended.delete(lockId(lock));
    this.#held.hold(lock, until);
  }

  #giveUpTicket(ticket: string): void {
    const { lock } = this.#tickets.get(ticket) ?? {};
    if (lock) this.#giveUp(lock);
  }

  #giveUp(lock: HeldLock): void {
    this.#held.drop(lock);
    this.#ended.set(lockId(lock), 'given up');
  }

  #loseIfHeld(lock: HeldLock, reason: string): void {
    if (this.#held.has(lock)) this.#lose({ ...lock, reason });
  }

  #lose(lost: LostLock): void {
    this.#held.drop(lost);
    if (this.#ended.get(lockId(lost)) !== undefined) return;
    this.#ended.set(lockId(lost), 'told');
    this.#options.tell(lost);
  }

  #isOwn({ agent_id }: { readonly agent_id?: unknown }): boolean {
    return agent_id === undefined || agent_id === this.#options.agentId;
  }
}

function leaseEnd(from: number, ttlMs: number): number {
  return from + ttlMs - leaseMargin(ttlMs);
}

/** Not before it was asked for; after a wait nobody but the server knows it better than by now. */
function grantedAt({ wait_ms = 0 }: Fields, askedAt: number): number {
  return Number(wait_ms) > 0 ? performance.now() : askedAt;
}

function toLock(fields: Fields): HeldLock {
  const { session_id, resource = 'context', lock_token } = fields;
  return {
    session_id: String(session_id),
    resource: String(resource),
    lock_token: Number(lock_token),
  };
}
