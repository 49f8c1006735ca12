import { AsyncLocalStorage } from 'node:async_hooks';
import { FabricError, type Log } from '@starloom/core';
import type { CoordinationClient } from './client.ts';
import { type HeldLock, isGone, type KnownLocks, type LockName, lockLost } from './known-locks.ts';
import { leaseMargin } from './leases.ts';
import { failure } from './reasons.ts';
import type { GrantedLock, LockService } from './services.ts';

export interface LockParams {
  readonly session_id: string;
  readonly resource?: string;
  readonly mode?: 'exclusive' | 'shared';
  readonly ttl_ms?: number;
  /** How long to wait for the lock, also behind other work of this client; by default a minute. */
  readonly wait_ms?: number;
  readonly priority?: number;
}

export interface Lock {
  readonly lock_token: number;
  /**
   * Aborts when the lock is lost, or its time is over and no renewal is confirmed: whatever is written
   * under it then would be refused. It does so by a timer, which is late when the process was busy
   * or stopped.
   */
  readonly signal: AbortSignal;
  /**
   * Throws when the lock is lost, by the clock and at once. To be called right before something is
   * written that the server cannot refuse.
   */
  readonly assertHeld: () => void;
}

export type LockedWork<Result> = (lock: Lock) => Promise<Result>;

export interface LockHolder {
  readonly client: CoordinationClient;
  readonly known: KnownLocks;
  readonly turns: WorkTurns;
  readonly scope: WorkScope;
  readonly log: Log;
}

const TTL_MS = 30_000;
const WAIT_MS = 60_000;
const CONTEXT = 'context';

/** Rejects when the lock was lost meanwhile, once the work has ended, whatever came of it. */
export async function withLock<Result>(
  holder: LockHolder,
  { resource = CONTEXT, ttl_ms = TTL_MS, wait_ms = WAIT_MS, ...params }: LockParams,
  work: LockedWork<Result>,
): Promise<Result> {
  const asked: AskedLock = { ...params, resource, ttl_ms, wait_ms };
  if (holder.scope.has(nameOf(asked)))
    throw failure('deadlock', { session_id: params.session_id, resource });
  using taken = await takeLock(holder, asked);
  const { lock_token } = taken.granted;
  const lock = { session_id: params.session_id, resource, lock_token };
  const { known, log } = holder;
  using kept = new KeptLock({ lock, ttlMs: ttl_ms, locks: holder.client.locks, known, log });
  const { signal, assertHeld } = kept;
  try {
    if (taken.isTimeUnsure) await kept.renew();
    assertHeld();
    const given: Lock = { lock_token, signal, assertHeld };
    const result = await holder.scope.run(nameOf(asked), () => work(given));
    kept.assertNotLost();
    return result;
  } catch (error) {
    kept.assertNotLost();
    throw error;
  } finally {
    await kept.giveBack();
  }
}

type AskedLock = LockParams & LockName & Required<Pick<LockParams, 'ttl_ms' | 'wait_ms'>>;

interface TakenLock extends Disposable {
  readonly granted: GrantedLock;
  /** It took so long that much of the lease may be over. */
  readonly isTimeUnsure: boolean;
}

/**
 * The server knows one agent, however many works it has, and refuses an agent that waits for itself.
 * So exclusive works take turns here. Shared works run together, each with a lease of its own. A
 * shared work that would wait for an agent that waits for the others waits here until they have ended.
 */
async function takeLock(holder: LockHolder, asked: AskedLock): Promise<TakenLock> {
  const waitUntil = performance.now() + asked.wait_ms;
  if (asked.mode !== 'shared')
    return await takeInTurn(holder, asked, { isShared: false, waitUntil });
  try {
    return await takeInTurn(holder, asked, { isShared: true, waitUntil });
  } catch (error) {
    if (!isDeadlock(error)) throw error;
    return await takeInTurn(holder, asked, { isShared: false, waitUntil });
  }
}

async function takeInTurn(
  { turns, client }: LockHolder,
  asked: AskedLock,
  { isShared, waitUntil }: { readonly isShared: boolean; readonly waitUntil: number },
): Promise<TakenLock> {
  const left = () => Math.ceil(Math.max(0, waitUntil - performance.now()));
  const turn = await turns.take({ name: nameOf(asked), isShared, waitMs: left() });
  if (turn === undefined) {
    const { session_id, resource } = asked;
    throw failure('lock_held', { session_id, resource, holder: client.agentId });
  }
  const askedAt = performance.now();
  try {
    const granted = await client.locks.acquire({ ...asked, wait_ms: left() });
    const isTimeUnsure = performance.now() - askedAt > leaseMargin(asked.ttl_ms);
    return { granted, isTimeUnsure, [Symbol.dispose]: () => turn[Symbol.dispose]() };
  } catch (error) {
    turn[Symbol.dispose]();
    throw error;
  }
}

function isDeadlock(error: unknown): boolean {
  return FabricError.is(error) && error.details.reason === 'deadlock';
}

function nameOf({ session_id, resource }: LockName): string {
  return `${session_id}\n${resource}`;
}

interface KeptLockOptions {
  readonly lock: HeldLock;
  readonly ttlMs: number;
  readonly locks: LockService;
  readonly known: KnownLocks;
  readonly log: Log;
}

const RENEWALS = 3;

/** Renews a lock until it is given back, and aborts when it is lost. */
class KeptLock implements Disposable {
  readonly #options: KeptLockOptions;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #unwatch: () => void;

  constructor(options: KeptLockOptions) {
    const { lock, ttlMs, known } = options;
    this.#options = options;
    this.#timer = setInterval(() => void this.#renewOrLog(), ttlMs / RENEWALS).unref();
    this.#unwatch = known.watch(lock, (lost) => this.#lost.abort(lockLost(lost)));
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  readonly assertHeld = (): void => {
    const { known, lock } = this.#options;
    const isHeld = known.isHeld(lock);
    this.signal.throwIfAborted();
    if (!isHeld) throw lockLost({ ...lock, reason: 'given_up' });
  };

  /** It may have been given up by the work itself. */
  assertNotLost(): void {
    this.#options.known.isHeld(this.#options.lock);
    this.signal.throwIfAborted();
  }

  async renew(): Promise<void> {
    const { locks, lock, ttlMs } = this.#options;
    await locks.renew({ ...lock, ttl_ms: ttlMs });
  }

  /**
   * Throws when it turns out that it was lost. The client gives a lost lock back, too, since a
   * renewal on its way may hold it for longer; but no caller waits for that.
   */
  async giveBack(): Promise<void> {
    clearInterval(this.#timer);
    const released = this.#release();
    if (this.signal.aborted) return;
    await released;
    this.signal.throwIfAborted();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#unwatch();
  }

  /** What was done under it is done, whatever comes of this: it ends with its lease at the latest. */
  async #release(): Promise<void> {
    const { locks, lock } = this.#options;
    await locks.release(lock).catch((error: unknown) => {
      if (isGone(error)) return;
      this.#log(error, 'coordination: a lock was not given back; it ends with its lease');
    });
  }

  async #renewOrLog(): Promise<void> {
    await this.renew().catch((error: unknown) => {
      this.#log(error, 'coordination: a lock was not renewed');
    });
  }

  #log(thrown: unknown, text: string): void {
    this.#options.log.warn({ error: FabricError.from(thrown), ...this.#options.lock }, text);
  }
}

interface TurnRequest {
  readonly name: string;
  readonly isShared: boolean;
  readonly waitMs: number;
}

interface Place {
  readonly isShared: boolean;
  readonly enter: () => void;
  readonly refuse: (reason: Error) => void;
  isInside: boolean;
}

/**
 * Whose turn it is among the works of one client. They enter in the order in which they came, alone
 * or, when they share, together with those before them that share, too.
 */
export class WorkTurns {
  readonly #queues = new Map<string, Set<Place>>();
  #closed: Error | undefined;

  /** Ends when it is disposed of; `undefined` when it did not come in time. */
  async take({ name, isShared, waitMs }: TurnRequest): Promise<Disposable | undefined> {
    if (this.#closed) throw this.#closed;
    const { promise: entered, resolve: enter, reject: refuse } = Promise.withResolvers<void>();
    const place: Place = { isShared, enter, refuse, isInside: false };
    const queue = this.#queues.get(name) ?? new Set();
    this.#queues.set(name, queue.add(place));
    admit(queue);
    try {
      if (!place.isInside) await withinTime(entered, waitMs);
    } finally {
      if (!place.isInside) this.#leave(name, place);
    }
    if (!place.isInside) return undefined;
    return { [Symbol.dispose]: () => this.#leave(name, place) };
  }

  /** No caller gets a turn any more; those that have one may end. */
  close(reason: Error): void {
    this.#closed = reason;
    const places = [...this.#queues.values()].flatMap((queue) => [...queue]);
    for (const place of places) if (!place.isInside) place.refuse(reason);
  }

  #leave(name: string, place: Place): void {
    const queue = this.#queues.get(name);
    if (!queue?.delete(place)) return;
    if (queue.size === 0) this.#queues.delete(name);
    else admit(queue);
  }
}

function admit(queue: ReadonlySet<Place>): void {
  let isFirst = true;
  for (const place of queue) {
    if (!isFirst && !place.isShared) return;
    if (!place.isInside) place.enter();
    place.isInside = true;
    if (!place.isShared) return;
    isFirst = false;
  }
}

async function withinTime(entered: Promise<void>, ms: number): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([entered, over]);
  } finally {
    clearTimeout(timer);
  }
}

interface Scope {
  readonly name: string;
  isOver: boolean;
}

/** Knows which works the code that asks is part of, through all that they call and await. */
export class WorkScope {
  readonly #storage = new AsyncLocalStorage<readonly Scope[]>();

  has(name: string): boolean {
    return this.#current().some((scope) => scope.name === name);
  }

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const scope: Scope = { name, isOver: false };
    try {
      return await this.#storage.run([...this.#current(), scope], work);
    } finally {
      scope.isOver = true;
    }
  }

  /** What a work has left running is no part of it once it is over. */
  #current(): readonly Scope[] {
    return (this.#storage.getStore() ?? []).filter(({ isOver }) => !isOver);
  }
}
