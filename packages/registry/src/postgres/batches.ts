/** Collects what comes while a batch is on its way; the next batch takes all of it. */
export class Batches<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #limit: number;
  readonly #waiting: { item: Item; resolve: (r: Result) => void; reject: (e: unknown) => void }[] =
    [];
  #running: Promise<void> | undefined;

  /** `run` gives a result for each item, in order; when it throws, all of its items fail. */
  constructor(limit: number, run: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#limit = limit;
    this.#run = run;
  }

  add(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ item, resolve, reject });
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
    });
    return promise;
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #work(): Promise<void> {
    // What is added in this turn of the event loop belongs together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#limit);
      try {
        const results = await this.#run(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}
