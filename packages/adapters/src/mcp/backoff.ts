const STEP_MS = 100;
const MAX_MS = 30_000;

/** How long to wait before something that keeps failing is tried again: not at all, then longer. */
export class Backoff {
  #failures = 0;
  #notBefore = 0;

  failed(): void {
    this.#failures += 1;
    const wait = this.#failures === 1 ? 0 : STEP_MS * 2 ** (this.#failures - 2);
    this.#notBefore = performance.now() + Math.min(wait, MAX_MS);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#notBefore = 0;
  }

  remainingMs(): number {
    return Math.max(0, this.#notBefore - performance.now());
  }
}
