/** Takes a batch; a result for each item, in order. When it throws, all of its items fail. */
export type RunBatch<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

interface Waiting<Item, Result> extends Pick<PromiseWithResolvers<Result>, 'resolve' | 'reject'> {
  readonly item: Item;
}

/**
 * Group commit: while one batch is on its way to the disk or the database, all that comes in waits for
 * the next, so that any number of items share one sync.
 */
export class GroupBatches<Item, Result> {
  readonly #most: number;
  readonly #run: RunBatch<Item, Result>;
  readonly #waiting: Waiting<Item, Result>[] = [];
  #draining: Promise<void> | undefined;

  constructor(most: number, run: RunBatch<Item, Result>) {
    this.#most = most;
    this.#run = run;
  }

  /** How many items wait for the next batch. */
  get waiting(): number {
    return this.#waiting.length;
  }

  add(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ item, resolve, reject });
    this.#draining ??= this.#drain();
    return promise;
  }

  /** Resolves when no batch is under way. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  async #drain(): Promise<void> {
    // By then everything that comes in with this turn of the event loop is in the batch.
    await new Promise((resolve) => setImmediate(resolve));
    let settle = () => {};
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most);
      const running = this.#run(batch.map(({ item }) => item));
      // The callers of the batch before go on while this one is under way.
      settle();
      settle = await running.then(
        (results) => () => {
          for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
        },
        (error: unknown) => () => {
          for (const { reject } of batch) reject(error);
        },
      );
    }
    this.#draining = undefined;
    settle();
  }
}
