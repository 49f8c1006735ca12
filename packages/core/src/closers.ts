type Close = () => unknown;

/**
 * Closes what was opened, the last part first, and every part even when one of them fails. Node 22 has
 * no `AsyncDisposableStack`, which would do the same.
 */
export class Closers implements AsyncDisposable {
  readonly #parts: Close[] = [];

  add(close: Close): void {
    this.#parts.push(close);
  }

  /** Rejects with the first failure after every part was closed; `onFailure` takes failures instead. */
  async close(onFailure?: (error: unknown) => void): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#parts.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        if (onFailure) onFailure(error);
        else failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
