// What all calls below one root call may use together: how many they are, and until when they may begin.
// It is kept by principal and root trace, so that no agent on the way can start it over. Gateways that
// share a store count together those that carry a mandate; what one of them counted by itself, because
// the store was away or the caller has a key, is added with the next of those.

import { type Clock, FabricError, type Log, sha256Hex, silentLog } from '@starloom/core';
import { z } from 'zod';
import { type RealmEntry, type RealmStore, StoreReach } from './realm/realm-store.ts';
import { failure } from './reasons.ts';
import { MAX_MANDATE_S, SKEW_S } from './tokens/claims.ts';

export interface Budget {
  readonly calls: number;
  readonly ms: number;
}

interface TraceBudgetsOptions {
  readonly limit: Budget;
  readonly clock: Clock;
  /** Without it this gateway counts alone. */
  readonly realm?: RealmStore | undefined;
  readonly log?: Log;
}

interface Account {
  calls: number;
  /** Monotonic. */
  until: number;
  /** Calls that were counted here alone. */
  own: number;
  /** Of the entry in the store, as far as it is known; 0 where there is none. */
  version: number;
  /** One call after the other asks the store. */
  turn: Promise<void> | undefined;
}

/** Traces of one principal that are remembered; those of others are not pushed out by them. */
const MAX_TRACES = 10_000;
const BUDGETS = 'budgets';
/** Other gateways may be faster so often before a call is counted here alone. */
const ATTEMPTS = 10;
/** A mandate that was minted at the end of the time is accepted for so long. */
const KEPT_MS = (MAX_MANDATE_S + 2 * SKEW_S) * 1000;

const sharedSchema = z.strictObject({ calls: z.int(), until: z.number() });

export class TraceBudgets {
  readonly #options: TraceBudgetsOptions;
  readonly #reach: StoreReach;
  readonly #accounts = new Map<string, Map<string, Account>>();

  constructor(options: TraceBudgetsOptions) {
    this.#options = options;
    this.#reach = new StoreReach(options.log ?? silentLog, {
      away: 'budgets of traces are counted by this gateway alone',
      back: 'budgets of traces are counted with other gateways again',
    });
  }

  /** What is left, as far as it is known here; `granted` can lower it, never raise it. */
  left(principalId: string, traceId: string, granted: Partial<Budget> = {}): Budget {
    const account = this.#account(principalId, traceId, granted);
    return { calls: Math.max(0, account.calls), ms: Math.floor(this.#msLeft(account)) };
  }

  /** One call below the root, counted here; POLICY_DENIED when there is nothing left. */
  spend(principalId: string, traceId: string, granted: Partial<Budget> = {}): void {
    this.#spendHere(this.#account(principalId, traceId, granted));
  }

  /** The same, counted with all gateways that share the store; at once where there is none. */
  spendTogether(
    principalId: string,
    traceId: string,
    granted: Partial<Budget> = {},
  ): Promise<void> | undefined {
    const { realm } = this.#options;
    const account = this.#account(principalId, traceId, granted);
    if (!realm) {
      this.#spendHere(account);
      return undefined;
    }
    const key = sha256Hex(JSON.stringify([principalId, traceId]));
    const spent = (account.turn ?? Promise.resolve()).then(() =>
      this.#spendAt(realm, key, account),
    );
    account.turn = spent.catch(() => undefined);
    return spent;
  }

  async #spendAt(realm: RealmStore, key: string, account: Account): Promise<void> {
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        this.#assertLeft(account);
        const { own, version } = account;
        const writes = [this.#toPut(key, account)];
        const result = await realm.commit(BUDGETS, { writes, ifKeys: new Map([[key, version]]) });
        this.#reach.reached();
        if (result.ok) {
          account.calls -= 1;
          account.own -= own;
          account.version = result.version;
          return;
        }
        this.#learn(account, result.current?.entries.get(key));
      }
    } catch (thrown) {
      const error = FabricError.from(thrown);
      if (error.code === 'POLICY_DENIED') throw error;
      this.#reach.failed(error);
    }
    this.#spendHere(account);
  }

  #spendHere(account: Account): void {
    this.#assertLeft(account);
    account.calls -= 1;
    account.own += 1;
  }

  #assertLeft(account: Account): void {
    const isLate = this.#msLeft(account) <= 0;
    if (account.calls <= 0 || isLate)
      throw failure('budget_spent', { of: isLate ? 'time' : 'calls' });
  }

  /** The account with one call less. Gateways agree on the time of the day alone. */
  #toPut(key: string, account: Account) {
    const ms = Math.ceil(this.#msLeft(account));
    const value = { calls: account.calls - 1, until: this.#options.clock.now() + ms };
    return { kind: 'put', key, value, ttlMs: ms + KEPT_MS } as const;
  }

  /** What other gateways counted. */
  #learn(account: Account, entry: RealmEntry | undefined): void {
    account.version = entry?.version ?? 0;
    const shared = sharedSchema.safeParse(entry?.value).data;
    if (!shared) return;
    const { clock } = this.#options;
    account.calls = Math.min(account.calls, shared.calls - account.own);
    account.until = Math.min(account.until, clock.monotonic() + shared.until - clock.now());
  }

  #msLeft({ until }: Account): number {
    return Math.max(0, until - this.#options.clock.monotonic());
  }

  #account(principalId: string, traceId: string, granted: Partial<Budget>): Account {
    const { limit, clock } = this.#options;
    const traces = this.#accounts.get(principalId) ?? new Map<string, Account>();
    this.#accounts.set(principalId, traces);
    const now = clock.monotonic();
    const calls = Math.min(limit.calls, granted.calls ?? limit.calls);
    const until = now + Math.min(limit.ms, granted.ms ?? limit.ms);
    const known = traces.get(traceId);
    if (known) {
      known.calls = Math.min(known.calls, calls);
      known.until = Math.min(known.until, until);
      return known;
    }
    const [oldest] = traces.keys();
    if (traces.size >= MAX_TRACES && oldest !== undefined) traces.delete(oldest);
    const account = { calls, until, own: 0, version: 0, turn: undefined };
    traces.set(traceId, account);
    return account;
  }
}
