// The single things that an agent of the workload asks for, each recorded as one operation.

import type { LeaseMode } from '@starloom/coordination';
import { type Client, type Sending, toRead, toToken, toVersion } from './client.ts';
import { Deck } from './deck.ts';
import type { Outcome } from './history.ts';
import type { Random } from './random.ts';

export interface Places {
  /** Sessions whose updates need the lock, and sessions whose updates need none. */
  readonly locked: readonly [string, ...string[]];
  readonly free: readonly [string, ...string[]];
  readonly keys: readonly [string, ...string[]];
  readonly counters: readonly [string, ...string[]];
}

export interface WriteOptions {
  /** Under the lock that it holds, or under one of its own. */
  readonly lock?: { readonly lock_token?: number; readonly with_lock?: true };
  /** The life to act in; by default the present one. */
  readonly epoch?: number | undefined;
}

export interface AcquireOptions {
  readonly mode: LeaseMode;
  readonly waitMs: number;
  /** It takes a place in the queue and does not wait for its turn. */
  readonly isAsync?: boolean;
  readonly epoch?: number | undefined;
}

const RESOURCE = 'context';
const REPEATS = 200;
const PLAIN: Sending = { repeats: REPEATS, isCut: false, isRepeated: false };
/** Some give up at once, so that there are operations nobody knows about. */
const GIVEN_UP: Sending = { ...PLAIN, repeats: 0 };
const CUT: Sending = { ...PLAIN, isCut: true };
const REPEATED: Sending = { ...PLAIN, isRepeated: true };

export class Actions {
  readonly #client: Client;
  readonly #random: Random;
  readonly #places: Places;
  readonly #lockMs: number;
  readonly #sendings: Deck<Sending>;

  constructor(client: Client, random: Random, places: Places, lockMs: number) {
    this.#client = client;
    this.#random = random;
    this.#places = places;
    this.#lockMs = lockMs;
    this.#sendings = new Deck([GIVEN_UP, CUT, REPEATED], random, () => chooseSending(random));
  }

  async read(session: string, key: string, token?: number): Promise<Outcome> {
    return await this.#client.perform({
      session,
      operation: { kind: 'read', key, ...(token !== undefined && { token }) },
      method: 'context_coordinator.get',
      params: { keys: [key] },
      toResult: toRead(key),
    });
  }

  async write(session: string, { lock = {}, epoch }: WriteOptions = {}): Promise<Outcome> {
    const key = this.#random.pick(this.#places.keys);
    const value = this.#newValue();
    const token = lock.lock_token === undefined ? {} : { token: lock.lock_token };
    return await this.#client.perform({
      session,
      epoch,
      operation: { kind: 'write', key, value, ...token },
      method: 'context_coordinator.update',
      params: { update: { [key]: value }, ...lock },
      toResult: toVersion,
      sending: this.#sendings.draw(),
    });
  }

  async increment(session: string): Promise<Outcome> {
    const key = this.#random.pick(this.#places.counters);
    return await this.#client.perform({
      session,
      operation: { kind: 'increment', key, by: 1 },
      method: 'context_coordinator.update',
      params: { update: { [key]: 1 }, op: 'increment' },
      toResult: toVersion,
      sending: this.#sendings.draw(),
    });
  }

  async compareAndSet(session: string): Promise<Outcome> {
    const key = this.#random.pick(this.#places.keys);
    const before = await this.read(session, key);
    if (before.kind !== 'ok') return before;
    const ifVersion = before.result.version ?? 0;
    const value = this.#newValue();
    return await this.#client.perform({
      session,
      operation: { kind: 'cas', key, value, ifVersion },
      method: 'context_coordinator.update',
      params: { update: { [key]: value }, if_versions: { [key]: ifVersion } },
      toResult: toVersion,
      sending: this.#sendings.draw(),
    });
  }

  async acquire(session: string, options: AcquireOptions): Promise<Outcome> {
    const { mode, waitMs, isAsync = false, epoch } = options;
    const lease = { resource: RESOURCE, mode, ttl_ms: this.#lockMs, wait_ms: waitMs };
    return await this.#client.perform({
      session,
      epoch,
      operation: { kind: 'acquire', resource: RESOURCE, mode },
      method: 'memory_locker.acquire',
      params: { ...lease, ...(isAsync && { async: true }) },
      toResult: toToken,
      sending: this.#sendings.draw(),
    });
  }

  async renew(session: string, token: number): Promise<Outcome> {
    return await this.#client.perform({
      session,
      operation: { kind: 'renew', resource: RESOURCE, token },
      method: 'memory_locker.renew',
      params: { resource: RESOURCE, lock_token: token, ttl_ms: this.#lockMs },
      toResult: () => ({}),
    });
  }

  async release(session: string, token: number): Promise<Outcome> {
    return await this.#client.perform({
      session,
      operation: { kind: 'release', resource: RESOURCE, token },
      method: 'memory_locker.release',
      params: { resource: RESOURCE, lock_token: token },
      toResult: () => ({}),
    });
  }

  async beat(epoch?: number): Promise<Outcome> {
    return await this.#client.perform({
      epoch,
      session: '',
      operation: { kind: 'heartbeat' },
      method: 'agent_registry.heartbeat',
      params: {},
      toResult: () => ({}),
    });
  }

  #newValue(): string {
    return `${this.#client.agent}:${this.#random.below(2 ** 32)}`;
  }
}

function chooseSending(random: Random): Sending {
  const roll = random.next();
  if (roll < 0.3) return GIVEN_UP;
  if (roll < 0.33) return CUT;
  return roll < 0.38 ? REPEATED : PLAIN;
}
