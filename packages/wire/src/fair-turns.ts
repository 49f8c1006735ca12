// Work of many callers on the one event loop: requests that came, streams that never pause. Each turn of
// the loop does a little of it, and everything else that is ready gets its turn: connections (the loop
// accepts one per turn), answers of agents, timers. What has to wait goes on by caller in rotation: the
// one request of a caller goes before the second one of another, however many that other has sent.

import { performance } from 'node:perf_hooks';

const TURN_MS = 2;
/** How many that wait go on in one turn, at least. */
const PARTS = 4;
const MAX_REST_MS = 50;

export interface FairTurnsOptions {
  /** Work that begins in one turn after so long waits for the next; 0 lets one begin in each. */
  readonly ms?: number;
  /** Rests after each turn as long as it took: for work that could else fill the loop on its own. */
  readonly rests?: boolean;
  readonly now?: () => number;
}

export class FairTurns {
  readonly #ms: number;
  readonly #rests: boolean;
  readonly #now: () => number;
  /** By caller; the one whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** When the work of this turn began; `undefined` while there is none. */
  #since: number | undefined;
  /** Until then what was resumed goes on: parts of it that are done together cost less. */
  #goesOnUntil = 0;

  constructor({
    ms = TURN_MS,
    rests = false,
    now = () => performance.now(),
  }: FairTurnsOptions = {}) {
    this.#ms = ms;
    this.#rests = rests;
    this.#now = now;
  }

  /** Asked before work begins: `undefined` to go on, or resolves when it is the caller's turn. */
  enter(caller = ''): Promise<void> | undefined {
    if (this.#since === undefined) {
      this.#begin();
      return undefined;
    }
    if (this.#waiting.size === 0 && this.#hasTime(this.#since)) return undefined;
    if (this.#now() < this.#goesOnUntil) return undefined;
    return new Promise((resolve) => {
      const queue = this.#waiting.get(caller);
      if (queue) queue.push(resolve);
      else this.#waiting.set(caller, [resolve]);
    });
  }

  #begin(): void {
    this.#since = this.#now();
    setImmediate(this.#turnOver);
  }

  #hasTime(since: number): boolean {
    return this.#now() - since < this.#ms;
  }

  readonly #turnOver = (): void => {
    const took = this.#now() - (this.#since ?? 0);
    if (this.#rests && took >= 1) setTimeout(this.#nextTurn, Math.min(took, MAX_REST_MS));
    else this.#nextTurn();
  };

  readonly #nextTurn = (): void => {
    this.#since = undefined;
    if (this.#waiting.size === 0) return;
    this.#begin();
    this.#resumeOne();
  };

  readonly #resumeOne = (): void => {
    const [next] = this.#waiting;
    if (!next) return;
    const [caller, queue] = next;
    this.#waiting.delete(caller);
    const resume = queue.shift();
    if (queue.length > 0) this.#waiting.set(caller, queue);
    this.#goesOnUntil = this.#now() + this.#ms / PARTS;
    resume?.();
    // After all that the resumed work does before it waits for something else.
    queueMicrotask(() => process.nextTick(this.#resumeMore));
  };

  readonly #resumeMore = (): void => {
    this.#goesOnUntil = 0;
    if (this.#since !== undefined && this.#hasTime(this.#since)) this.#resumeOne();
  };
}

/** For events of streams, asked between two of them: there is one event loop. */
export const streamTurns = new FairTurns();
