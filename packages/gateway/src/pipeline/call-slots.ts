// How many calls may run at once under one name: a principal, or an agent. A few more wait a moment
// for their turn; the rest is refused at once, so that nothing piles up. No holder (the principal that
// calls an agent) takes the last slots: they are there for all the others.

import { FabricError } from '@starloom/core';

export interface CallSlotsOptions {
  /** What the names are, for the message. */
  readonly of: 'principal' | 'agent';
  readonly limit: number;
  /** For names that have a limit of their own. */
  readonly own?: ReadonlyMap<string, number>;
  readonly waitMs?: number;
}

interface Waiting {
  readonly holder: string | undefined;
  readonly start: () => void;
}

interface Slots {
  readonly limit: number;
  running: number;
  readonly held: Map<string | undefined, number>;
  readonly waiting: Set<Waiting>;
}

const WAIT_MS = 1_000;
/** Of those that run, how many may wait. */
const QUEUE_SHARE = 1 / 8;
/** Names that are kept without a call: to forget one with each call and to make it again costs more. */
const KEPT_NAMES = 1_000;
/** Of all slots, those that one holder alone does not get. */
const KEPT_SHARE = 1 / 16;

export class CallSlots {
  readonly #options: CallSlotsOptions;
  readonly #slots = new Map<string, Slots>();

  constructor(options: CallSlotsOptions) {
    this.#options = options;
  }

  /** Takes a slot at once where there is one; else waits a moment, or rejects with OVERLOADED. */
  enter(name: string, signal: AbortSignal, holder?: string): Promise<void> | undefined {
    const slots = this.#slots.get(name) ?? this.#open(name);
    if (slots.running < slots.limit && mayHold(slots, holder)) {
      slots.running += 1;
      hold(slots, holder, 1);
      return undefined;
    }
    if (slots.waiting.size >= Math.max(1, Math.floor(slots.limit * QUEUE_SHARE))) {
      return Promise.reject(this.#full(name, slots));
    }
    return this.#wait(name, slots, signal, holder);
  }

  /** Gives a slot back: to the one that waits longest, of those that may have it. */
  leave(name: string, holder?: string): void {
    const slots = this.#slots.get(name);
    if (!slots) return;
    hold(slots, holder, -1);
    for (const next of slots.waiting) {
      if (!mayHold(slots, next.holder)) continue;
      slots.waiting.delete(next);
      hold(slots, next.holder, 1);
      next.start();
      return;
    }
    slots.running -= 1;
    if (slots.running === 0 && this.#slots.size > KEPT_NAMES) this.#slots.delete(name);
  }

  #open(name: string): Slots {
    const limit = this.#options.own?.get(name) ?? this.#options.limit;
    const slots = { limit, running: 0, held: new Map(), waiting: new Set<Waiting>() };
    this.#slots.set(name, slots);
    return slots;
  }

  #wait(
    name: string,
    slots: Slots,
    signal: AbortSignal,
    holder: string | undefined,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { holder, start: resolve };
    slots.waiting.add(waiting);
    const giveUp = (error: FabricError) => {
      if (slots.waiting.delete(waiting)) reject(error);
    };
    const onAbort = () => giveUp(FabricError.from(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(
      () => giveUp(this.#full(name, slots)),
      this.#options.waitMs ?? WAIT_MS,
    );
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    });
  }

  #full(name: string, { limit }: Slots): FabricError {
    const { of, waitMs = WAIT_MS } = this.#options;
    const whose = of === 'agent' ? `Agent "${name}" has` : 'This caller has';
    return new FabricError('OVERLOADED', `${whose} ${limit} calls in flight`, {
      details: {
        reason: `calls_per_${of}`,
        limit,
        retry_after_ms: waitMs,
        sent: false,
        fix: `call again later, or raise limits.calls_per_${of}`,
      },
    });
  }
}

function mayHold({ held, limit }: Slots, holder: string | undefined): boolean {
  if (holder === undefined) return true;
  return (held.get(holder) ?? 0) < limit - Math.floor(limit * KEPT_SHARE);
}

function hold({ held }: Slots, holder: string | undefined, more: 1 | -1): void {
  const count = (held.get(holder) ?? 0) + more;
  if (count > 0 || held.size <= KEPT_NAMES) held.set(holder, count);
  else held.delete(holder);
}
