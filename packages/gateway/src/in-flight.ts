import { failure } from './reasons.ts';

/** Counts work that must not be cut off, and tells when there is none. */
export class InFlight {
  #count = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  #isClosing = false;

  /** From now on nothing new should begin. */
  close(): void {
    this.#isClosing = true;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** OVERLOADED when the gateway shuts down. */
  assertOpen(): void {
    if (this.#isClosing) throw failure('shutting_down');
  }

  /** Begins a piece of work; returns how to end it. Only the first end counts. */
  enter(): () => void {
    this.#count += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count -= 1;
      if (this.#count === 0) this.#idle?.resolve();
    };
  }

  /** Resolves when nothing is in flight, or after `ms`. */
  async untilIdle(ms: number): Promise<void> {
    if (this.#count === 0) return;
    this.#idle ??= Promise.withResolvers();
    const timer = setTimeout(() => this.#idle?.resolve(), ms);
    await this.#idle.promise;
    clearTimeout(timer);
    this.#idle = undefined;
  }
}
