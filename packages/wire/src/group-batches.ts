import { FairTurns } from './fair-turns.ts';

/** Takes a batch; a result for each item, in order. When it throws, all of its items fail. */
export type RunBatch<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

interface Waiting<Item, Result> extends Pick<PromiseWithResolvers<Result>, 'resolve' | 'reject'> {
  readonly item: Item;
}

/** For what the callers of a batch do next: a thousand of them would else go on in one turn of the event loop. */
const turns = new FairTurns();

/**
 * Group commit: while one batch is on its way to the disk or the database, all that comes in waits for
 * the next, so that any number of items share one sync. Callers go on in the order in which they came.
 */
export class GroupBatches<Item, Result> {
  readonly #most: number;
  readonly #run: RunBatch<Item, Result>;
  readonly #waiting: Waiting<Item, Result>[] = [];
  #draining: Promise<void> | undefined;
  #settling = Promise.resolve();

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
        (results) => () => this.#settle(batch, ({ resolve }, at) => resolve(results[at] as Result)),
        (error: unknown) => () => this.#settle(batch, ({ reject }) => reject(error)),
      );
    }
    this.#draining = undefined;
    settle();
  }

  #settle(
    batch: readonly Waiting<Item, Result>[],
    settleOne: (waiting: Waiting<Item, Result>, at: number) => void,
  ): void {
    this.#settling = this.#settling.then(async () => {
      for (const [at, waiting] of batch.entries()) {
        const turn = turns.enter();
        if (turn) await turn;
        settleOne(waiting, at);
      }
    });
  }
}
