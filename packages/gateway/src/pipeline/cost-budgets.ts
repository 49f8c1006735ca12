import { type Clock, FabricError, type Json, RecentMap, sha256Hex, toFields } from '@starloom/core';
import type { CountSource, Uncounted } from './shared-counts.ts';

export interface CostBudgetsOptions {
  /** Units of cost in one day (UTC). */
  readonly perDay: number | undefined;
  /** For principals that have a budget of their own. */
  readonly own: ReadonlyMap<string, number>;
  readonly clock: Clock;
  readonly onLimited: (key: string) => void;
  /** Whether `takeUncounted` is asked. */
  readonly isShared?: boolean;
}

interface Account {
  readonly perDay: number;
  readonly day: number;
  spent: number;
  /** What of it is not in the store yet. */
  uncounted: number;
}

const KEY = 'cost_per_principal';
const DAY_MS = 24 * 60 * 60 * 1000;
/** Principals that are remembered at least, and half of those that are remembered at most. */
const PRINCIPALS = 10_000;

/**
 * What the calls of each principal may cost in a day. Kept in memory: a restart begins again, unless
 * the count is shared.
 */
export class CostBudgets implements CountSource {
  readonly #options: CostBudgetsOptions;
  readonly #isOff: boolean;
  readonly #accounts = new RecentMap<Account>(PRINCIPALS);
  /** Principals whose costs are not in the store yet. */
  #uncounted = new Map<string, Account>();

  constructor(options: CostBudgetsOptions) {
    this.#options = options;
    this.#isOff = options.perDay === undefined && options.own.size === 0;
  }

  /** Charges a call, or throws RATE_LIMITED when it costs more than what is left of the day. */
  spend(principalId: string, cost: number): void {
    if (this.#isOff || cost === 0) return;
    const account = this.#accountOf(principalId);
    if (!account) return;
    if (account.spent + cost > account.perDay) throw this.#spent(account, cost);
    this.#add(principalId, account, cost);
  }

  /** A call that was charged was none. */
  giveBack(principalId: string, cost: number): void {
    if (this.#isOff || cost === 0) return;
    const account = this.#accountOf(principalId);
    if (account) this.#add(principalId, account, -Math.min(cost, account.spent));
  }

  takeUncounted(): readonly Uncounted[] {
    const taken = [...this.#uncounted].map(([id, account]) => toUncounted(id, account));
    this.#uncounted = new Map();
    return taken;
  }

  #add(principalId: string, account: Account, cost: number): void {
    account.spent += cost;
    if (!this.#options.isShared) return;
    account.uncounted += cost;
    if (this.#uncounted.get(principalId) !== account) this.#uncounted.set(principalId, account);
  }

  #accountOf(principalId: string): Account | undefined {
    const day = Math.floor(this.#options.clock.now() / DAY_MS);
    const known = this.#accounts.get(principalId);
    if (known?.day === day) return known;
    const perDay = this.#options.own.get(principalId) ?? this.#options.perDay;
    if (perDay === undefined) return undefined;
    const account = { perDay, day, spent: 0, uncounted: 0 };
    this.#accounts.set(principalId, account);
    return account;
  }

  #spent({ perDay, day, spent }: Account, cost: number): FabricError {
    this.#options.onLimited(KEY);
    return new FabricError('RATE_LIMITED', `The budget of ${perDay} units a day is spent`, {
      details: {
        reason: KEY,
        limit: perDay,
        window_s: DAY_MS / 1_000,
        spent,
        cost,
        retry_after_ms: (day + 1) * DAY_MS - this.#options.clock.now(),
        sent: false,
        fix: `call again tomorrow (UTC), or raise limits.${KEY}`,
      },
    });
  }
}

/** In the store: what all gateways spent for the principal on this day. */
function toUncounted(principalId: string, account: Account): Uncounted {
  let added = { uncounted: 0, spent: 0 };
  return {
    key: `${KEY}:${account.day}:${sha256Hex(principalId)}`,
    addTo: (stored) => {
      const { uncounted } = account;
      added = { uncounted, spent: Math.max(0, spentOf(stored) + uncounted) };
      return { value: { spent: added.spent }, ttlMs: 2 * DAY_MS };
    },
    done: () => {
      account.uncounted -= added.uncounted;
      account.spent = added.spent + account.uncounted;
    },
  };
}

function spentOf(stored: Json | undefined): number {
  const { spent } = toFields(stored);
  return typeof spent === 'number' ? spent : 0;
}
