// What a principal may ask for, and an agent may be given, in a time. A principal is charged once for a
// call, whichever face it came by and however many agents are tried; an agent for every attempt. All
// who act on behalf of a principal share its account.

import { type Clock, type FabricError, RecentMap } from '@starloom/core';
import { onBehalfOf, type Principal } from '@starloom/identity';
import type { GatewayConfig } from '../config.ts';
import { CallRates, type Rate } from './call-rates.ts';
import type { Caller } from './call-request.ts';
import { CostBudgets } from './cost-budgets.ts';
import type { CountSource } from './shared-counts.ts';

export interface CallLimitsOptions {
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
    const rates = (key: RateKey, own: ReadonlyMap<string, Rate>) =>
      new CallRates({
        key,
        rate: limits[key],
        own,
        clock,
        onLimited,
        isShared: isShared && key !== 'rate_per_agent',
      });
    this.#clock = clock;
    this.#calls = rates(
      'rate_per_principal',
      ownOf(principals, ({ rate }) => rate),
    );
    this.#messages = rates(
      'rpc_rate_per_principal',
      ownOf(principals, (one) => one.rpc_rate),
    );
    this.#attempts = rates(
      'rate_per_agent',
      ownOf(agents, ({ rate }) => rate),
    );
    this.#costs = new CostBudgets({
      perDay: limits.cost_per_principal,
      own: ownOf(principals, ({ cost }) => cost),
      clock,
      onLimited,
      isShared,
    });
    this.sources = [this.#calls, this.#messages, this.#costs];
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
