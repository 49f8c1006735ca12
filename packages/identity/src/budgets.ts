// What all calls below one root call may use together: how many they are, and until when they may begin.
// It is kept by principal and root trace, so that no agent on the way can start it over.

import { type Clock, FabricError } from '@starloom/core';

export interface Budget {
  readonly calls: number;
  readonly ms: number;
}

interface Account {
  calls: number;
  /** Monotonic. */
  until: number;
}

/** Traces of one principal that are remembered; those of others are not pushed out by them. */
const MOST_TRACES = 10_000;

export class TraceBudgets {
  readonly #limit: Budget;
  readonly #clock: Clock;
  readonly #accounts = new Map<string, Map<string, Account>>();

  constructor(limit: Budget, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** What is left; `granted` can lower it, never raise it. */
  left(principalId: string, traceId: string, granted: Partial<Budget> = {}): Budget {
    const account = this.#account(principalId, traceId, granted);
    const ms = Math.max(0, Math.floor(account.until - this.#clock.monotonic()));
    return { calls: account.calls, ms };
  }

  /** One call below the root; POLICY_DENIED when there is nothing left. */
  spend(principalId: string, traceId: string, granted: Partial<Budget> = {}): void {
    const account = this.#account(principalId, traceId, granted);
    const isLate = account.until <= this.#clock.monotonic();
    if (account.calls <= 0 || isLate) throw spent(isLate ? 'time' : 'calls');
    account.calls -= 1;
  }

  #account(principalId: string, traceId: string, granted: Partial<Budget>): Account {
    const traces = this.#accounts.get(principalId) ?? new Map<string, Account>();
    this.#accounts.set(principalId, traces);
    const now = this.#clock.monotonic();
    const calls = Math.min(this.#limit.calls, granted.calls ?? this.#limit.calls);
    const until = now + Math.min(this.#limit.ms, granted.ms ?? this.#limit.ms);
    const known = traces.get(traceId);
    if (known) {
      known.calls = Math.min(known.calls, calls);
      known.until = Math.min(known.until, until);
      return known;
    }
    const [oldest] = traces.keys();
    if (traces.size >= MOST_TRACES && oldest !== undefined) traces.delete(oldest);
    const account = { calls, until };
    traces.set(traceId, account);
    return account;
  }
}

function spent(what: 'calls' | 'time'): FabricError {
  return new FabricError('POLICY_DENIED', `The budget of ${what} of this trace is spent`, {
    details: {
      reason: 'budget_spent',
      of: what,
      fix: 'begin another trace, or raise limits.budget_calls or limits.budget_ms',
    },
  });
}
