/** Lets one of those that wait go on in each turn of the event loop, in order. */
export class OnePerTurn {
  readonly #waiting: (() => void)[] = [];

  turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(this.#next);
    });
  }

  readonly #next = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#next);
  };
}
