import { Child } from '../child.ts';
import { ownProgram } from '../own-program.ts';
import type { Slice, SliceResult } from './slice.ts';

/** How long the last answers of a slice may take: more than a caller waits for two. */
const ENDING_MS = 30_000;

export class LoadGenerator implements AsyncDisposable {
  readonly #child: Child;

  static async start(): Promise<LoadGenerator> {
    return new LoadGenerator(await Child.start(ownProgram('load/main.ts')));
  }

  private constructor(child: Child) {
    this.#child = child;
  }

  async run(slice: Slice, signal: AbortSignal): Promise<SliceResult> {
    await this.#child.send(slice);
    const timeoutMs = slice.rampMs + slice.measureMs + ENDING_MS;
    return (await this.#child.receive(timeoutMs, signal)) as SliceResult;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }
}
