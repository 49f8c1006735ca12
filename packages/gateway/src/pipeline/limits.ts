// What a principal may ask for, and an agent may be given, in a time. A principal is charged once for a
// call, whichever face it came by and however many agents are tried; an agent for every attempt. All
// who act on behalf of a principal share its account.

import { type Clock, type FabricError, RecentMap } from '@starloom/core';
import { onBehalfOf, type Principal } from '@starloom/identity';
import type { GatewayConfig } from '../config.ts';
import { failure } from '../reasons.ts';
import type { Caller } from './call-request.ts';
import {
  type Account,
  type Bucket,
  type CountSource,
  callsToStore,
  costsToStore,
  DAY_MS,
  NotedCounts,
  type Rate,
} from './shared-counts.ts';

interface CallLimitsOptions {
  readonly limits: Pick<
    GatewayConfig['limits'],
    RateKey | 'cost_per_principal' | 'principals' | 'agents'
  >;
  readonly clock: Clock;
  /** A limit was met; the key of the configuration. */
  readonly onLimited: (key: string) => void;
  /** Whether limits of principals are counted with other gateways, by `sources`. */
  readonly isShared?: boolean;
}

type RateKey = 'rate_per_principal' | 'rate_per_agent' | 'rpc_rate_per_principal';

/** Of the refusals of one principal, one in this time is written to the audit log. */
const RECORD_MS = 1_000;
const PRINCIPALS = 10_000;
/** Idempotency keys that are remembered, of all principals. */
const KEYS = 10_000;

export class CallLimits {
  readonly #clock: Clock;
  readonly #calls: CallRates;
  readonly #messages: CallRates;
  readonly #attempts: CallRates;
  readonly #costs: CostBudgets;
  readonly #recordedAt = new RecentMap<number>(PRINCIPALS);
  readonly #keys = new RecentMap<true>(KEYS);
  /** What is counted for principals. Agents may be other ones at other gateways. */
  readonly sources: readonly CountSource[];

  constructor({ limits, clock, onLimited, isShared = false }: CallLimitsOptions) {
    const { principals, agents } = limits;
    const common = { clock, onLimited, isShared };
    this.#clock = clock;
    this.#calls = new CallRates('rate_per_principal', {
      ...common,
      limit: limits.rate_per_principal,
      own: ownOf(principals, ({ rate }) => rate),
    });
    this.#messages = new CallRates('rpc_rate_per_principal', {
      ...common,
      limit: limits.rpc_rate_per_principal,
      own: ownOf(principals, (one) => one.rpc_rate),
    });
    this.#attempts = new CallRates('rate_per_agent', {
      ...common,
      limit: limits.rate_per_agent,
      own: ownOf(agents, ({ rate }) => rate),
      isShared: false,
    });
    this.#costs = new CostBudgets({
      ...common,
      limit: limits.cost_per_principal,
      own: ownOf(principals, ({ cost }) => cost),
    });
    const counted = [this.#calls, this.#messages, this.#costs];
    this.sources = counted.flatMap(({ noted }): CountSource[] => (noted ? [noted] : []));
  }

  /** Whether a call with this idempotency key was charged: its repetition is not, nor refused. */
  isCharged({ id }: Principal, key: string | undefined): boolean {
    return key !== undefined && this.#keys.get(`${id} ${key}`) === true;
  }

  noteCharged({ id }: Principal, key: string | undefined): void {
    if (key !== undefined) this.#keys.set(`${id} ${key}`, true);
  }

  /** A call begins. RATE_LIMITED when its principal calls too often. */
  admit(principal: Principal): void {
    this.#calls.take(onBehalfOf(principal));
  }

  /** The call is given to an agent. RATE_LIMITED when its principal has spent its budget. */
  spend(principal: Principal, cost = 0): void {
    this.#costs.spend(onBehalfOf(principal), cost);
  }

  /** The call turned out to be one that was charged before. */
  giveBack(principal: Principal, cost = 0): void {
    this.#calls.giveBack(onBehalfOf(principal));
    this.#costs.giveBack(onBehalfOf(principal), cost);
  }

  /** An attempt begins. RATE_LIMITED when the agent is called too often. */
  attempt(agentId: string): void {
    this.#attempts.take(agentId);
  }

  /** Messages of the coordination plane arrive. RATE_LIMITED when there are too many. */
  messages(principal: Principal, count: number): void {
    this.#messages.take(onBehalfOf(principal), count);
  }

  /** Whether a refusal is written to the audit log: one caller must not fill it. */
  mayRecord(principal: Principal): boolean {
    const id = onBehalfOf(principal);
    const now = this.#clock.monotonic();
    const last = this.#recordedAt.get(id);
    if (last !== undefined && now - last < RECORD_MS) return false;
    this.#recordedAt.set(id, now);
    return true;
  }
}

const OF_CALLER: ReadonlySet<unknown> = new Set(['rate_per_principal', 'cost_per_principal']);

/** Whether a call was refused by a limit of its caller. */
export function isCallerLimit({ code, details }: FabricError): boolean {
  return code === 'RATE_LIMITED' && OF_CALLER.has(details.reason);
}

/** Over HTTP such a call is answered with 429, elsewhere like any call that failed. */
export function isRefusedByHttp(error: FabricError, { transport }: Pick<Caller, 'transport'>) {
  return transport === 'http' && isCallerLimit(error);
}

/** The names that have a value of their own. */
export function ownOf<One, Value>(
  named: Readonly<Record<string, One>>,
  read: (one: One) => Value | undefined,
): ReadonlyMap<string, Value> {
  const own = new Map<string, Value>();
  for (const [name, one] of Object.entries(named)) {
    const value = read(one);
    if (value !== undefined) own.set(name, value);
  }
  return own;
}

// How many calls may begin under one name (a principal, or an agent) in a given time. A token bucket,
// kept as one number per name: the time at which the bucket would be full again. A name that was not
// used lately has a full bucket, so it can be forgotten.

interface LimitOptions<Limit> {
  readonly limit: Limit | undefined;
  /** For names that have a limit of their own. */
  readonly own: ReadonlyMap<string, Limit>;
  readonly clock: Clock;
  readonly onLimited: (key: string) => void;
  readonly isShared: boolean;
}

/** Names that are remembered at least, and half of those that are remembered at most. */
const NAMES = 10_000;

class CallRates {
  readonly #key: RateKey;
  readonly #options: LimitOptions<Rate>;
  readonly #isOff: boolean;
  readonly #buckets = new RecentMap<Bucket>(NAMES);
  /** Where calls are counted with other gateways. */
  readonly noted: NotedCounts<Bucket> | undefined;

  /** `key` of the configuration. */
  constructor(key: RateKey, options: LimitOptions<Rate>) {
    this.#key = key;
    this.#options = options;
    this.#isOff = options.limit === undefined && options.own.size === 0;
    const { clock, isShared } = options;
    if (isShared)
      this.noted = new NotedCounts((name, bucket) => callsToStore(key, name, bucket, clock));
  }

  /** Counts calls that begin, or throws RATE_LIMITED. */
  take(name: string, calls = 1): void {
    if (this.#isOff) return;
    const bucket = this.#bucketOf(name);
    if (!bucket) return;
    const now = this.#options.clock.monotonic();
    const from = Math.max(bucket.fullAt, now);
    const askedMs = bucket.callMs * calls;
    // More at once than the bucket holds are taken when it is full.
    const waitMs = from + Math.min(askedMs, bucket.depthMs) - now - bucket.depthMs;
    if (waitMs > ROUNDING_MS) throw this.#limited(name, bucket, waitMs);
    bucket.fullAt = from + askedMs;
    this.noted?.add(name, bucket, calls);
  }

  /** Takes back a call that joined one which was counted before. */
  giveBack(name: string): void {
    const bucket = this.#isOff ? undefined : this.#buckets.get(name);
    if (!bucket) return;
    bucket.fullAt -= bucket.callMs;
    this.noted?.add(name, bucket, -1);
  }

  #bucketOf(name: string): Bucket | undefined {
    const known = this.#buckets.get(name);
    if (known) return known;
    const rate = this.#options.own.get(name) ?? this.#options.limit;
    if (!rate) return undefined;
    const callMs = (rate.seconds * 1_000) / rate.calls;
    const bucket = { rate, callMs, depthMs: callMs * (rate.burst ?? rate.calls), ...UNUSED };
    this.#buckets.set(name, bucket);
    return bucket;
  }

  #limited(name: string, { rate: { calls, seconds } }: Bucket, waitMs: number): FabricError {
    const key = this.#key;
    this.#options.onLimited(key);
    const facts = { limit: calls, window_s: seconds, retry_after_ms: Math.ceil(waitMs) };
    if (key === 'rate_per_agent') return failure(key, { ...facts, agent_id: name });
    return failure(key, facts);
  }
}

const UNUSED = { fullAt: 0, uncounted: 0, known: undefined, knownFrom: 0 };

/** Times are sums of fractions of a millisecond. */
const ROUNDING_MS = 1e-6;

const KEY = 'cost_per_principal';

/**
 * What the calls of each principal may cost in a day (UTC). Kept in memory: a restart begins again, unless
 * the count is shared.
 */
class CostBudgets {
  readonly #options: LimitOptions<number>;
  readonly #isOff: boolean;
  readonly #accounts = new RecentMap<Account>(PRINCIPALS);
  /** Where costs are counted with other gateways. */
  readonly noted: NotedCounts<Account> | undefined;

  constructor(options: LimitOptions<number>) {
    this.#options = options;
    this.#isOff = options.limit === undefined && options.own.size === 0;
    if (options.isShared) this.noted = new NotedCounts(costsToStore);
  }

  /** Charges a call, or throws RATE_LIMITED when it costs more than what is left of the day. */
  spend(principalId: string, cost: number): void {
    if (this.#isOff || cost === 0) return;
    const account = this.#accountOf(principalId);
    if (!account) return;
    if (account.spent + cost > account.perDay) throw this.#spent(account, cost);
    this.#add(principalId, account, cost);
  }

  /** Takes back the cost of a call that joined one which was charged before. */
  giveBack(principalId: string, cost: number): void {
    if (this.#isOff || cost === 0) return;
    const account = this.#accountOf(principalId);
    if (account) this.#add(principalId, account, -Math.min(cost, account.spent));
  }

  #add(principalId: string, account: Account, cost: number): void {
    account.spent += cost;
    this.noted?.add(principalId, account, cost);
  }

  #accountOf(principalId: string): Account | undefined {
    const day = Math.floor(this.#options.clock.now() / DAY_MS);
    const known = this.#accounts.get(principalId);
    if (known?.day === day) return known;
    const perDay = this.#options.own.get(principalId) ?? this.#options.limit;
    if (perDay === undefined) return undefined;
    const account = { perDay, day, spent: 0, uncounted: 0 };
    this.#accounts.set(principalId, account);
    return account;
  }

  #spent({ perDay, day, spent }: Account, cost: number): FabricError {
    this.#options.onLimited(KEY);
    return failure(KEY, {
      limit: perDay,
      window_s: DAY_MS / 1_000,
      spent,
      cost,
      retry_after_ms: (day + 1) * DAY_MS - this.#options.clock.now(),
    });
  }
}
