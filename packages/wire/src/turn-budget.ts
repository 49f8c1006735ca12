// How much of one turn of the event loop all streams together may take. An agent that talks as fast
// as it can is read in small parts, and between two of them everything else that is ready gets its
// turn; streams that wait go on in the order in which they came.

import { performance } from 'node:perf_hooks';

const TURN_MS = 2;

export interface TurnBudgetOptions {
  readonly ms?: number;
  readonly now?: () => number;
}

export class LoopTurnBudget {
  readonly #ms: number;
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  /** When streams began to work in this turn. */
  #since: number | undefined;

  constructor({ ms = TURN_MS, now = () => performance.now() }: TurnBudgetOptions = {}) {
    this.#ms = ms;
    this.#now = now;
  }

  /** Asked between two events of a stream: `undefined` to go on, or resolves in another turn. */
  rest(): Promise<void> | undefined {
    if (this.#since === undefined) {
      this.#since = this.#now();
      setImmediate(this.#nextTurn);
    }
    if (this.#now() - this.#since < this.#ms) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  readonly #nextTurn = (): void => {
    this.#since = undefined;
    for (const resume of this.#waiting.splice(0)) resume();
  };
}

/** Of this process: there is one event loop. */
export const streamTurns = new LoopTurnBudget();
