// Follows what is asked, answered and pushed about the locks of the client's agent. The time of a
// lease is counted from before it was asked for, so the client never believes in one for longer than
// the server does, save for a wait, whose end only the server knows.

import { FabricError, type Log } from '@starloom/core';
import {
  type HeldLock,
  isGone,
  KnownLocks,
  type LostLock,
  lockId,
  lockLost,
  type OpenTicket,
  type Ticket,
  Tickets,
} from './known-locks.ts';
import type { Send } from './link.ts';
import { rpcCodeOf } from './requests.ts';
import type { MethodResult } from './services.ts';

export interface GrantedTicket extends HeldLock, Ticket {
  readonly expires_at: number;
}

export interface LeasesOptions {
  readonly agentId: string;
  readonly log: Log;
  readonly send: Send;
  readonly onLost: (lost: LostLock) => void;
  /** The turn of a ticket came while no client was connected to receive the grant. */
  readonly onGranted: (granted: GrantedTicket) => void;
  /** A ticket will not be granted any more. */
  readonly onTicketGone: (ticket: Ticket) => void;
}

type Fields = Readonly<Record<string, unknown>>;
/** A push also says whose lock it is. */
type OfAgent<Lock> = Lock & { readonly agent_id?: string };

/** As the server takes it. */
const TTL_MS = 60_000;
const MARGIN_MS = 1_000;
const MARGIN_SHARE = 1 / 20;
/** Methods by which an agent gives up all that it holds, in a session or altogether. */
const LEAVING = ['session_manager.leave', 'agent_registry.unregister'];

/** Ends a session with all that is held there, if the answer says so. */
const ENDING = 'session_manager.end';

/** A lease counts as over this much before its time, so that nothing is begun at the end of it. */
export function leaseMargin(ttlMs: number): number {
  return Math.min(MARGIN_MS, ttlMs * MARGIN_SHARE);
}

export class Leases {
  readonly known: KnownLocks;
  readonly #options: LeasesOptions;
  readonly #tickets = new Tickets();
  /** Sessions that the agent is about to end. */
  readonly #ending = new Set<unknown>();

  constructor(options: LeasesOptions) {
    this.#options = options;
    this.known = new KnownLocks(options.onLost);
  }

  /** What the agent gives up is not lost, whenever the server hears of it. */
  onAsked(method: string, params: Fields): void {
    if (!this.#isOwn(params)) return;
    if (method === 'memory_locker.release') this.known.giveUp(toLock(params), 'releasing');
    if (method === 'memory_locker.cancel') this.#giveUpTicket(String(params.ticket));
    if (method === ENDING) this.#ending.add(params.session_id);
    if (LEAVING.includes(method)) this.#giveUpAll(params.session_id);
  }

  /** Throws when the lock that was asked for is lost before its answer came. */
  onAnswered(method: string, params: Fields, result: unknown, askedAt: number): void {
    if (!this.#isOwn(params)) return;
    const fields = { ...params, ...(result as Fields) };
    const ttlMs = Number(params.ttl_ms ?? TTL_MS);
    if (method === ENDING) this.#noteEnded(params.session_id);
    if (method === 'memory_locker.release') this.known.giveUp(toLock(params));
    if (method === 'memory_locker.renew')
      this.#noteRenewed(toLock(fields), leaseEnd(askedAt, ttlMs));
    if (method !== 'memory_locker.acquire') return;
    if (fields.queued === true) this.#noteQueued({ ...toTicket(fields), ttlMs });
    else this.#noteAcquired(toLock(fields), leaseEnd(grantedAt(params, askedAt), ttlMs));
  }

  onRefused(method: string, params: Fields, error: unknown): void {
    if (method === ENDING) this.#ending.delete(params.session_id);
    if (!this.#isOwn(params) || !isGone(error)) return;
    const lock = toLock(params);
    if (method === 'memory_locker.renew') this.#goneIfHeld(lock);
    if (method === 'memory_locker.release') this.known.lose({ ...lock, reason: 'gone' });
  }

  /** Takes the answer when the caller does not wait for it any more. */
  onLate(method: string, params: Fields): ((result: unknown) => void) | undefined {
    if (method !== 'memory_locker.acquire') return undefined;
    return (result) => this.#grantedTooLate(params, result);
  }

  /** It was pushed that it is the turn of a request that waited, with a ticket or for its answer. */
  onGranted(pushed: OfAgent<HeldLock & { readonly ticket: string }>): void {
    if (!this.#isOwn(pushed)) return;
    const lock = toLock({ ...pushed });
    const opened = this.#tickets.grant(pushed.ticket, lock);
    if (opened) this.known.keep(lock, leaseEnd(performance.now(), opened.ttlMs));
    else if (!this.known.isHeld(lock)) this.known.keep(lock);
  }

  /** It was pushed that a lock is lost. */
  onLost(pushed: OfAgent<LostLock>): void {
    if (!this.#isOwn(pushed)) this.#options.onLost(pushed);
    else if (this.#ending.has(pushed.session_id)) this.known.giveUp(pushed);
    else this.known.lose(pushed);
  }

  loseAll(reason: string): void {
    for (const lock of this.known.list()) this.known.loseIfHeld(lock, reason);
    for (const ticket of this.#tickets.list()) this.#loseTicket(ticket);
  }

  /**
   * Asks, in a session or in all, whether what is believed to be held is held, and what became of
   * the tickets.
   */
  async confirm(send: Send, sessionId?: string): Promise<void> {
    const believed = [...this.known.list(sessionId), ...this.#tickets.list(sessionId)];
    for (const session_id of new Set(believed.map((each) => each.session_id))) {
      const [held, tickets] = [this.known.list(session_id), this.#tickets.list(session_id)];
      const status = await readLockStatus(send, session_id, this.#options.log);
      if (status === undefined) continue;
      const missing = held.filter((lock) => !status.locks.has(lockId(lock)));
      for (const lock of missing) this.#goneIfHeld(lock);
      for (const ticket of tickets) await this.#confirmTicket(send, ticket, status);
    }
  }

  /** A lock without a word of its grant is that of the ticket which has no place any more. */
  async #confirmTicket(send: Send, opened: OpenTicket, status: LockStatus): Promise<void> {
    if (status.tickets.has(opened.ticket)) return;
    const lock = [...status.locks.values()].find(
      (each) => each.resource === opened.resource && this.known.isUnknown(each),
    );
    const granted = lock && (await this.#takeOver(send, opened, lock));
    if (granted) this.#options.onGranted(granted);
    else this.#loseTicket(opened);
  }

  /** Much of its time may be over: it is renewed first. */
  async #takeOver(
    send: Send,
    { ticket, ttlMs }: OpenTicket,
    lock: HeldLock,
  ): Promise<GrantedTicket | undefined> {
    const askedAt = performance.now();
    try {
      const renewed = await send('memory_locker.renew', { ...lock, ttl_ms: ttlMs });
      if (!this.#tickets.isOpen(ticket)) return undefined;
      const { expires_at } = renewed as MethodResult<'memory_locker.renew'>;
      this.#tickets.grant(ticket, lock);
      this.known.keep(lock, leaseEnd(askedAt, ttlMs));
      return { ...lock, ticket, expires_at };
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  /** Gives back a lock that no caller knows of. */
  #grantedTooLate(params: Fields, result: unknown): void {
    const fields = { ...params, ...(result as Fields) };
    const { session_id, agent_id, ticket } = fields;
    const whose = { session_id, ...(agent_id !== undefined && { agent_id }) };
    if (fields.queued === true) {
      this.#sendOrLog('memory_locker.cancel', { ...whose, ticket });
      return;
    }
    const lock = toLock(fields);
    if (this.#isOwn(params)) this.known.giveUp(lock);
    this.#sendOrLog('memory_locker.release', { ...whose, ...lock });
  }

  #noteAcquired(lock: HeldLock, until: number): void {
    const lost = this.known.lossOf(lock);
    if (lost) throw lockLost(lost);
    if (until <= performance.now()) throw this.#giveBackLate(lock);
    this.known.keep(lock, until);
  }

  #giveBackLate(lock: HeldLock): FabricError {
    this.known.giveUp(lock);
    this.#sendOrLog('memory_locker.release', { ...lock });
    return lockLost({ ...lock, reason: 'expired' });
  }

  /** A lock already reported as lost has no holder: the client gives it back. */
  #noteRenewed(lock: HeldLock, until: number): void {
    if (this.known.lossOf(lock)) this.#sendOrLog('memory_locker.release', { ...lock });
    else this.known.keep(lock, until);
  }

  /** The grant may have been pushed before the answer with the ticket. */
  #noteQueued(opened: OpenTicket): void {
    const lock = this.#tickets.open(opened);
    if (lock && this.known.isHeld(lock))
      this.known.keep(lock, leaseEnd(performance.now(), opened.ttlMs));
  }

  #noteEnded(sessionId: unknown): void {
    this.#giveUpAll(sessionId);
    this.#ending.delete(sessionId);
  }

  #giveUpAll(sessionId: unknown): void {
    for (const lock of this.known.list(sessionId)) this.known.giveUp(lock);
    for (const { ticket } of this.#tickets.list(sessionId)) this.#tickets.close(ticket);
  }

  #goneIfHeld(lock: HeldLock): void {
    if (this.#ending.has(lock.session_id)) this.known.giveUp(lock);
    else this.known.loseIfHeld(lock, 'gone');
  }

  #giveUpTicket(ticket: string): void {
    this.#tickets.close(ticket);
    const lock = this.#tickets.lockOf(ticket);
    if (lock) this.known.giveUp(lock);
  }

  #loseTicket({ session_id, resource, ticket }: OpenTicket): void {
    if (this.#tickets.close(ticket)) this.#options.onTicketGone({ session_id, resource, ticket });
  }

  #isOwn({ agent_id }: { readonly agent_id?: unknown }): boolean {
    return agent_id === undefined || agent_id === this.#options.agentId;
  }

  #sendOrLog(method: string, params: Fields): void {
    this.#options.send(method, params).catch((thrown: unknown) => {
      if (isGone(thrown)) return;
      const error = FabricError.from(thrown);
      this.#options.log.info({ error, ...params }, 'coordination: a lock was not given back');
    });
  }
}

function leaseEnd(from: number, ttlMs: number): number {
  return from + ttlMs - leaseMargin(ttlMs);
}

/**
 * A grant is not earlier than its request. After a wait only the server knows the time, so this
 * takes the present.
 */
function grantedAt({ wait_ms = 0 }: Fields, askedAt: number): number {
  return Number(wait_ms) > 0 ? performance.now() : askedAt;
}

function toTicket({ session_id, resource = 'context', ticket }: Fields): Ticket {
  return { session_id: String(session_id), resource: String(resource), ticket: String(ticket) };
}

function toLock({ session_id, resource = 'context', lock_token }: Fields): HeldLock {
  return {
    session_id: String(session_id),
    resource: String(resource),
    lock_token: Number(lock_token),
  };
}

/** What the agent has in a session, as the server sees it. */
interface LockStatus {
  readonly locks: ReadonlyMap<string, HeldLock>;
  readonly tickets: ReadonlySet<string>;
}

const NOTHING: LockStatus = { locks: new Map(), tickets: new Set() };

/** `undefined` when the server cannot say; throws when it was not reached. */
async function readLockStatus(
  send: Send,
  session_id: string,
  log: Log,
): Promise<LockStatus | undefined> {
  try {
    return toStatus(session_id, await send('memory_locker.status', { session_id }));
  } catch (thrown) {
    if (isGone(thrown)) return NOTHING;
    if (rpcCodeOf(thrown) === undefined) throw thrown;
    const error = FabricError.from(thrown);
    log.warn({ error, session_id }, 'coordination: locks could not be confirmed');
    return undefined;
  }
}

/** Tokens and tickets are shown to their owner only. */
function toStatus(session_id: string, answer: unknown): LockStatus {
  const { locks, waiting } = answer as MethodResult<'memory_locker.status'>;
  const own = locks.flatMap(({ resource, lock_token }) =>
    lock_token === undefined ? [] : [{ session_id, resource, lock_token }],
  );
  return {
    locks: new Map(own.map((lock) => [lockId(lock), lock])),
    tickets: new Set(waiting.flatMap(({ ticket }) => ticket ?? [])),
  };
}
