// Work of many callers on the one event loop: requests that came, streams that never pause. Each turn of
// the loop does a little of it, and everything else that is ready gets its turn: connections, answers of
// agents, timers. What has to wait goes on by caller in rotation: the one request of a caller goes before
// the second one of another, however many that other has sent.

import { performance } from 'node:perf_hooks';

/** As they are when this is loaded: a clock that is replaced later does not stop turns half way. */
const { setImmediate } = globalThis;
const realNow = performance.now.bind(performance);

const TURN_MS = 3;
/** While one caller has many that wait, and others come too. */
const CROWDED_TURN_MS = 1;
const MANY = 8;
/** A caller with no more than these that wait goes on in a turn that is over for others. */
const FEW = 4;
const SHARED_FOR_MS = 500;
/** How many that wait go on in one turn, at least. */
const PARTS = 4;
/** How many may begin before any of it is done: what many wait for may come for all of them at once. */
const MAX_AT_ONCE = 8;
/** How much that was gathered begins together, at most. */
const GATHERED_AT_ONCE = 64;
/** How long a piece of work is expected to take before any was done. */
const UNKNOWN_MS = 1;
const MAX_REST_MS = 50;
/** So long after `hurry` more of the same is expected. */
const HURRY_MS = 5;

export interface FairTurnsOptions {
  /** Work that begins in one turn after so long waits for the next; 0 lets one begin in each. */
  readonly ms?: number;
  /**
   * For work that could else fill the loop on its own: it rests after each turn as long as that took, and twice as
   * long while there is other work, which comes through these.
   */
  readonly restsBeside?: FairTurns;
  /**
   * Begins nothing at once, but together what came in this turn of the loop, at its end: the same steps of several
   * calls right after each other take a tenth less time than each call on its own.
   */
  readonly gathers?: boolean;
  readonly now?: () => number;
}

export class FairTurns {
  readonly #ms: number;
  readonly #beside: FairTurns | undefined;
  readonly #gathers: boolean;
  readonly #now: () => number;
  /** By caller; the one whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** When this turn began; `undefined` while there is nothing to do. */
  #since: number | undefined;
  /** Until then what was resumed goes on: parts of it that are done together cost less. */
  #goesOnUntil = 0;
  #hurriedAt = Number.NEGATIVE_INFINITY;
  #enteredAt = Number.NEGATIVE_INFINITY;
  #lastCaller: string | undefined;
  /** Whose turn this one is. */
  #resumed: string | undefined;
  /** When work of another caller than before it came last, and when many of one caller waited last. */
  #sharedAt = Number.NEGATIVE_INFINITY;
  #manyAt = Number.NEGATIVE_INFINITY;
  /** Whether work began in this turn without waiting. */
  #isBegun = false;
  /** What began, and may not be done yet; since when. */
  #open = 0;
  #batchAt = 0;
  /** How much began together last, and how long a piece of such work takes. */
  #lastBatch = 1;
  #pieceMs = UNKNOWN_MS;
  /** When work was last done, and how long that took. */
  #doneAt = Number.NEGATIVE_INFINITY;
  #took = 0;

  constructor(options: FairTurnsOptions = {}) {
    const { ms = TURN_MS, restsBeside, gathers = false, now = realNow } = options;
    this.#ms = ms;
    this.#beside = restsBeside;
    this.#gathers = gathers;
    this.#now = now;
  }

  /** Asked before work begins: `undefined` to go on, or resolves when it is the caller's turn. */
  enter(caller = ''): Promise<void> | undefined {
    const now = this.#now();
    this.#enteredAt = now;
    if (caller !== this.#lastCaller) {
      if (this.#lastCaller !== undefined) this.#sharedAt = now;
      this.#lastCaller = caller;
    }
    if (this.#mayBegin(now)) return undefined;
    return new Promise((resolve) => {
      const queue = this.#waiting.get(caller);
      if (!queue) this.#waiting.set(caller, [resolve]);
      else if (queue.push(resolve) > MANY) this.#manyAt = now;
    });
  }

  /**
   * Something came of which the loop takes one per turn, such as a connection. For a moment turns are
   * short: work is done only for as long as there was none before.
   */
  hurry(): void {
    this.#hurriedAt = this.#now();
  }

  #mayBegin(now: number): boolean {
    if (this.#since === undefined) {
      this.#begin(now);
      this.#isBegun = !this.#gathers && this.#isDue(now);
      if (this.#isBegun) this.#note();
      return this.#isBegun;
    }
    if (this.#gathers || this.#open >= MAX_AT_ONCE) return false;
    const goesOn = now < this.#goesOnUntil;
    const mayBegin = goesOn || (this.#waiting.size === 0 && this.#hasTime(now));
    if (mayBegin) this.#note();
    return mayBegin;
  }

  #note(): void {
    this.#open += 1;
    // After all that the work does before it waits for something else.
    if (this.#open > 1) return;
    this.#batchAt = this.#now();
    queueMicrotask(this.#afterWork);
  }

  readonly #afterWork = (): void => process.nextTick(this.#resumeMore);

  #begin(now: number): void {
    this.#since = now;
    setImmediate(this.#turnOver);
  }

  #hasTime(now: number): boolean {
    return now - (this.#since ?? 0) < this.#turnMs(now) && !this.#isHurried(now);
  }

  #turnMs(now: number): number {
    return this.#isCrowded(now) ? Math.min(this.#ms, CROWDED_TURN_MS) : this.#ms;
  }

  /** Long turns cost less in all; but here others pay for them who wait for a few. */
  #isCrowded(now: number): boolean {
    return now - this.#sharedAt < SHARED_FOR_MS && now - this.#manyAt < SHARED_FOR_MS;
  }

  #isHurried(now: number): boolean {
    return now - this.#hurriedAt < HURRY_MS;
  }

  #isDue(now: number): boolean {
    return !this.#isHurried(now) || now - this.#doneAt >= Math.min(this.#took, this.#ms);
  }

  #done(now: number): void {
    this.#took = now - (this.#since ?? now);
    this.#doneAt = now;
  }

  readonly #turnOver = (): void => {
    const now = this.#now();
    if (this.#isBegun) this.#done(now);
    this.#isBegun = false;
    const took = now - (this.#since ?? 0);
    if (this.#beside && took >= 1) setTimeout(this.#nextTurn, this.#restMs(took, this.#beside));
    else this.#nextTurn();
  };

  #restMs(took: number, beside: FairTurns): number {
    const isAlone = beside.#now() - beside.#enteredAt >= SHARED_FOR_MS;
    return Math.min(isAlone ? took : 2 * took, MAX_REST_MS);
  }

  readonly #nextTurn = (): void => {
    this.#since = undefined;
    if (this.#waiting.size === 0) return;
    const now = this.#now();
    this.#begin(now);
    if (!this.#isDue(now)) return;
    this.#resumed = this.#waiting.keys().next().value;
    this.#resumeNext(now);
  };

  #resumeNext(now: number): void {
    const most = this.#gathers && !this.#isHurried(now) ? this.#batch(now) : 1;
    for (let count = 0; count < most; count += 1) {
      const caller = this.#waiting.keys().next().value;
      if (caller === undefined) return;
      this.#resumeOne(caller);
    }
  }

  /**
   * Nothing else is done until all of a batch is. One caller alone may take long turns; beside others a batch has
   * what fits this turn, and at most twice as much as the one before: work of another kind may take longer.
   */
  #batch(now: number): number {
    if (now - this.#sharedAt >= SHARED_FOR_MS) return GATHERED_AT_ONCE;
    const fits = ((this.#since ?? now) + this.#turnMs(now) - now) / this.#pieceMs;
    return Math.max(1, Math.min(fits, 2 * this.#lastBatch, GATHERED_AT_ONCE));
  }

  #resumeOne(caller: string): void {
    const queue = this.#waiting.get(caller);
    if (!queue) return;
    this.#waiting.delete(caller);
    const resume = queue.shift();
    if (queue.length > 0) this.#waiting.set(caller, queue);
    this.#goesOnUntil = this.#now() + this.#ms / PARTS;
    this.#note();
    resume?.();
  }

  readonly #resumeMore = (): void => {
    const now = this.#now();
    this.#goesOnUntil = 0;
    this.#pieceMs += ((now - this.#batchAt) / this.#open - this.#pieceMs) / 2;
    this.#lastBatch = this.#open;
    this.#open = 0;
    this.#done(now);
    const isOpen = this.#since !== undefined && this.#waiting.size > 0;
    const modest = isOpen ? this.#modestCaller(now) : undefined;
    if (modest !== undefined) this.#resumeOne(modest);
    else if (isOpen && this.#hasTime(now)) this.#resumeNext(now);
    // The end of the turn has begun already, so what is due then would wait for the next one.
    else if (this.#gathers) flush();
  };

  /** Another one with few that wait: it goes on before more of the caller whose turn it is. */
  #modestCaller(now: number): string | undefined {
    if (now - (this.#since ?? 0) >= this.#ms) return undefined;
    for (const [caller, { length }] of this.#waiting) {
      if (length <= FEW && caller !== this.#resumed) return caller;
    }
    return undefined;
  }
}

/**
 * For events of streams, asked between two of them: there is one event loop. A call takes some turns, and
 * each of them is so much longer while agents talk as fast as they can. With turns of a millisecond forty
 * such agents get a tenth more through, and the p99 of other calls doubles.
 */
export const streamTurns = new FairTurns({ ms: 0.1 });

/** For results, of which a call has one: many that come at once are passed on together. */
export const resultTurns = new FairTurns({ gathers: true });

const due: (() => void)[] = [];

/**
 * Does the work at the end of this turn of the event loop, together with what else is due then, in order.
 * For writes to sockets: one right after the other they find a reader that is awake, where each on its own
 * would have to wake it up, which alone can cost more than all the rest of a call.
 */
export function atTurnEnd(work: () => void): void {
  if (due.push(work) === 1) setImmediate(flush);
}

/** One that throws keeps no other from its turn. */
function flush(): void {
  const works = due.splice(0);
  let at = 0;
  try {
    for (; at < works.length; at += 1) works[at]?.();
  } finally {
    for (const work of works.slice(at + 1)) atTurnEnd(work);
  }
}
