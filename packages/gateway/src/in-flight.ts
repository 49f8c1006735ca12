import { FabricError } from '@starloom/core';

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
    if (!this.#isClosing) return;
    throw new FabricError('OVERLOADED', 'The gateway is shutting down', {
      details: { reason: 'shutting_down', fix: 'try again in a moment, or another gateway' },
    });
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
