// A ledger file in the thread of files. One batch of steps is under way at a time.

import { extname } from 'node:path';
import type { FabricError } from '@starloom/core';
import { ThreadedFile } from '@starloom/wire';
import {
  fromProblem,
  type LedgerReply,
  type LedgerStep,
  StepBatches,
  WRITE_PROBE,
} from '../ledger/step-batches.ts';
import { failure } from '../reasons.ts';
import type { ThreadReply } from './ledger-file.ts';

export class LedgerThread {
  readonly #file: ThreadedFile<readonly LedgerStep[], ThreadReply>;
  readonly #opened = Promise.withResolvers<FabricError | undefined>();
  readonly #batches = new StepBatches((steps) => this.#run(steps));
  #replied: PromiseWithResolvers<readonly LedgerReply[]> | undefined;
  #failure: FabricError | undefined;

  readonly ledger = this.#batches.toLedger();

  /** Why the file could not be opened yet; steps try again. */
  problem: FabricError | undefined;

  private constructor(path: string) {
    const module = new URL(`./ledger-file${extname(import.meta.url)}`, import.meta.url);
    this.#file = new ThreadedFile({
      module,
      path,
      onReply: (reply) => this.#take(reply),
      onLost: (cause) => this.#fail(failure('engine_unavailable/closed', {}, { cause })),
    });
  }

  static async open(path: string): Promise<LedgerThread> {
    const thread = new LedgerThread(path);
    try {
      thread.problem = await thread.#opened.promise;
    } catch (error) {
      await thread.#file.close();
      throw error;
    }
    thread.#file.release();
    return thread;
  }

  /** Writes something; rejects when that is not possible. */
  async check(): Promise<void> {
    await this.#batches.step(WRITE_PROBE, []);
  }

  async close(): Promise<void> {
    await this.#batches.idle();
    await this.#file.close();
    this.#fail(failure('engine_unavailable/closed'));
  }

  async #run(steps: readonly LedgerStep[]): Promise<readonly LedgerReply[]> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#replied = Promise.withResolvers();
    this.#file.hold();
    this.#file.send(steps);
    return this.#replied.promise;
  }

  #take(reply: ThreadReply): void {
    if (reply.kind === 'opened') this.#opened.resolve(reply.problem && fromProblem(reply.problem));
    else if (reply.kind === 'failed') this.#fail(fromProblem(reply.problem));
    else {
      this.#file.release();
      this.#replied?.resolve(reply.replies);
    }
  }

  /** The first failure is the one that says why; it stays. */
  #fail(error: FabricError): void {
    this.#failure ??= error;
    this.#opened.reject(this.#failure);
    this.#replied?.reject(this.#failure);
  }
}
