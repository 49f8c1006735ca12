// What every client asked and what it was told, by one clock. An operation without an answer keeps
// its end open: it may take effect at any later time, or never.

import type { LeaseMode } from '@starloom/coordination';
import type { Json } from '@starloom/core';

export type Operation =
  /** `token`: under a shared lock. */
  | { readonly kind: 'read'; readonly key: string; readonly token?: number }
  /** Under a lock: with the token it holds, or with one taken and given back in the same step. */
  | { readonly kind: 'write'; readonly key: string; readonly value: Json; readonly token?: number }
  | {
      readonly kind: 'cas';
      readonly key: string;
      readonly value: Json;
      readonly ifVersion: number;
    }
  | { readonly kind: 'increment'; readonly key: string; readonly by: number }
  | { readonly kind: 'acquire'; readonly resource: string; readonly mode: LeaseMode }
  | { readonly kind: 'renew'; readonly resource: string; readonly token: number }
  | { readonly kind: 'release'; readonly resource: string; readonly token: number }
  | { readonly kind: 'register' }
  | { readonly kind: 'heartbeat' }
  /** The request with this id once more, under its key, although it had been answered. */
  | { readonly kind: 'repeat'; readonly of: string };

export interface Result {
  readonly value?: Json | undefined;
  readonly version?: number | undefined;
  readonly token?: number | undefined;
  readonly epoch?: number | undefined;
}

export type Outcome =
  | { readonly kind: 'ok'; readonly result: Result }
  /** It had no effect, says the answer. */
  | { readonly kind: 'refused'; readonly reason: string; readonly code: number }
  | { readonly kind: 'unknown'; readonly why: string };

export interface Recorded {
  /** Also the `cause` of an update, by which the log of the session knows it. */
  readonly id: string;
  readonly agent: string;
  /** The life of the agent in which it was asked; 0 before the first. */
  readonly epoch: number;
  readonly session: string;
  readonly operation: Operation;
  readonly invokedAt: number;
  /** `Infinity` while nothing is known. */
  readonly returnedAt: number;
  readonly outcome: Outcome;
}

export interface LogEntry {
  readonly version: number;
  readonly cause: string;
  readonly op: string;
  readonly update: Readonly<Record<string, Json>>;
}

/** The log of a session as it stood in the end; what came before `from` is trimmed. */
export interface SessionLog {
  readonly from: number;
  readonly entries: readonly LogEntry[];
}

export type Delivery =
  | { readonly kind: 'update'; readonly version: number; readonly cause: string }
  /** Said aloud: what came up to `version` was not delivered. */
  | { readonly kind: 'gap'; readonly version: number }
  /** What it took instead of what it missed. */
  | { readonly kind: 'snapshot'; readonly version: number }
  /** It could not resume from there; it tries again. */
  | { readonly kind: 'refused'; readonly version: number; readonly reason: string }
  /** The plane does not know the cursor any more that it gave. */
  | { readonly kind: 'forgotten'; readonly version: number };

export interface Subscription {
  readonly subscriber: string;
  readonly session: string;
  readonly from: number;
  readonly deliveries: readonly Delivery[];
}

export interface Recording {
  readonly operations: readonly Recorded[];
  readonly subscriptions: readonly Subscription[];
  readonly logs: ReadonlyMap<string, SessionLog>;
}

export interface Asked {
  readonly agent: string;
  readonly epoch: number;
  readonly session: string;
  readonly operation: Operation;
}

export type Settle = (outcome: Outcome) => void;

const OPEN: Outcome = { kind: 'unknown', why: 'still under way' };

export class History implements Recording {
  readonly logs = new Map<string, SessionLog>();
  readonly #operations: Recorded[] = [];
  readonly #subscriptions: (Subscription & { readonly deliveries: Delivery[] })[] = [];
  readonly #now: () => number;
  #next = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get operations(): readonly Recorded[] {
    return this.#operations;
  }

  get subscriptions(): readonly Subscription[] {
    return this.#subscriptions;
  }

  nextId(agent: string): string {
    this.#next += 1;
    return `${agent}/${this.#next}`;
  }

  /** The operation begins now; the function ends it. */
  invoke(asked: Asked, id: string): Settle {
    const at = this.#operations.length;
    const open = { ...asked, id, invokedAt: this.#now(), returnedAt: Number.POSITIVE_INFINITY };
    this.#operations.push({ ...open, outcome: OPEN });
    return (outcome) => {
      const returnedAt = outcome.kind === 'unknown' ? Number.POSITIVE_INFINITY : this.#now();
      this.#operations[at] = { ...open, returnedAt, outcome };
    };
  }

  subscribe(subscriber: string, session: string, from: number): (delivery: Delivery) => void {
    const deliveries: Delivery[] = [];
    this.#subscriptions.push({ subscriber, session, from, deliveries });
    return (delivery) => deliveries.push(delivery);
  }
}
