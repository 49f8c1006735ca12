const MAX_FAILED = 100;
const FAILURE_LENGTH = 500;

/** What all connections of one slice have seen. */
export class Tally {
  readonly latenciesMs: number[] = [];
  readonly firstEventsMs: number[] = [];
  failed = 0;
  failure: string | undefined;
  /** No more calls are made. */
  isOver = false;
  #isOpen = false;
  readonly #first = Promise.withResolvers<void>();

  /** From now on answers count. */
  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#isOpen = false;
    this.isOver = true;
  }

  /** Resolves with the first answer that counts, right or wrong. */
  get first(): Promise<void> {
    return this.#first.promise;
  }

  add(latencyMs: number, firstEventMs: number | undefined): void {
    if (!this.#isOpen) return;
    this.#first.resolve();
    this.latenciesMs.push(latencyMs);
    if (firstEventMs !== undefined) this.firstEventsMs.push(firstEventMs);
  }

  /** A wrong answer counts whenever it comes; too many end the slice. */
  fail(failure: string): void {
    this.failed += 1;
    if (this.#isOpen) this.#first.resolve();
    this.failure ??= failure.slice(0, FAILURE_LENGTH);
    if (this.failed >= MAX_FAILED) this.isOver = true;
  }
}
