// What stands before an agent: its circuit, and how many calls it serves at once.

import { type Clock, FabricError } from '@starloom/core';
import { failure } from '../reasons.ts';

export type BreakerState = 'closed' | 'open' | 'half-open';

export interface Circuit {
  failures: number;
  state: BreakerState;
  restMs: number;
  openUntil: number;
}

/** The circuits as calls meet them; `Breakers` adds what failures do to them. */
export class Circuits {
  protected readonly circuits = new Map<string, Circuit>();
  protected readonly clock: Clock;
  readonly #onChange: ((agentId: string, state: BreakerState) => void) | undefined;

  constructor(clock: Clock, onChange?: (agentId: string, state: BreakerState) => void) {
    this.clock = clock;
    this.#onChange = onChange;
  }

  state(agentId: string): BreakerState {
    return this.circuits.get(agentId)?.state ?? 'closed';
  }

  /** Would a call be let through now? Changes nothing. */
  isOpen(agentId: string, principalId?: string): boolean {
    if (this.circuits.size === 0) return false;
    return namesOf(agentId, principalId).some((name) => this.#isOpen(name));
  }

  /** Lets a call through, or not; after its rest an open circuit lets one through as a trial. */
  admit(agentId: string, principalId?: string): boolean {
    if (this.circuits.size === 0) return true;
    if (this.isOpen(agentId, principalId)) return false;
    for (const name of namesOf(agentId, principalId)) {
      const circuit = this.circuits.get(name);
      if (circuit?.state === 'open') this.change(name, circuit, 'half-open');
    }
    return true;
  }

  succeeded(agentId: string, principalId?: string): void {
    if (this.circuits.size === 0) return;
    for (const name of namesOf(agentId, principalId)) {
      const circuit = this.circuits.get(name);
      if (!circuit) continue;
      this.circuits.delete(name);
      if (circuit.state !== 'closed') this.#report(name, 'closed');
    }
  }

  #isOpen(name: string): boolean {
    const circuit = this.circuits.get(name);
    if (!circuit || circuit.state === 'closed') return false;
    return circuit.state === 'half-open' || circuit.openUntil > this.clock.monotonic();
  }

  protected change(name: string, circuit: Circuit, state: BreakerState): void {
    if (circuit.state === state) return;
    circuit.state = state;
    this.#report(name, state);
  }

  /** Reports no circuit that belongs to one caller alone. */
  #report(name: string, state: BreakerState): void {
    if (!name.includes('\n')) this.#onChange?.(name, state);
  }
}

/** An agent's circuit, and the caller's own; no id of an agent or node has a line break in it. */
export function namesOf(agentId: string, principalId: string | undefined): [string, ...string[]] {
  return principalId === undefined ? [agentId] : [agentId, `${agentId}\n${principalId}`];
}

// How many calls may run at once under one name: a principal, or an agent. A few more wait a moment
// for their turn; the rest is refused at once, so that nothing piles up. No holder (the principal that
// calls an agent) takes the last slots: they are there for all the others.

interface CallSlotsOptions {
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
    const { of, waitMs: retry_after_ms = WAIT_MS } = this.#options;
    if (of === 'principal') return failure('calls_per_principal', { limit, retry_after_ms });
    return failure('calls_per_agent', { agent_id: name, limit, retry_after_ms });
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
