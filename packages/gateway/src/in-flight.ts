/** Counts work that must not be cut off, and tells when there is none. */
export class InFlight {
  #count = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
      if (this.#count === 0) this.#idle?.resolve();
    }
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
