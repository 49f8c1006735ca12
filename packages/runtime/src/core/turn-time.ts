// How long a turn may take. Its clock stands still while a person is asked: time spent reading before
// approval does not count. A cancelled turn ends at once, whether the clock runs or not.

import type { Clock, FabricError } from '@starloom/core';
import { timerWheelOf, WheelTimer } from '@starloom/wire';

interface TurnTimeOptions {
  readonly ms: number;
  readonly parent: AbortSignal;
  /** What the signal aborts with when the time is over. */
  readonly reason: () => FabricError;
  readonly clock: Clock;
}

export class TurnTime extends WheelTimer implements Disposable {
  readonly #options: TurnTimeOptions;
  readonly #controller = new AbortController();
  #leftMs: number;
  #since = 0;
  #pauses = 0;
  #isOver = false;

  constructor(options: TurnTimeOptions) {
    super();
    this.#options = options;
    this.#leftMs = options.ms;
    const { parent } = options;
    if (parent.aborted) this.#follow();
    else {
      parent.addEventListener('abort', this.#follow, { once: true });
      this.#run();
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  remainingMs(): number {
    if (this.#pauses > 0) return this.#leftMs;
    return this.#leftMs - (this.#options.clock.monotonic() - this.#since);
  }

  /** Stops the clock until it is disposed of; it runs again when the last of several is. */
  pause(): Disposable {
    if (this.#pauses === 0) {
      this.#leftMs = this.remainingMs();
      this.unlink();
    }
    this.#pauses += 1;
    return { [Symbol.dispose]: () => this.#resume() };
  }

  override expire(): void {
    this.#abort(this.#options.reason());
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.unlink();
    this.#options.parent.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => this.#abort(this.#options.parent.reason);

  #run(): void {
    const { clock } = this.#options;
    this.#since = clock.monotonic();
    timerWheelOf(clock).add(this, this.#leftMs);
  }

  #resume(): void {
    this.#pauses -= 1;
    if (this.#pauses === 0 && !this.#isOver) this.#run();
  }

  #abort(reason: unknown): void {
    this[Symbol.dispose]();
    this.#controller.abort(reason);
  }
}
