import { FabricError, orAborted } from '@starloom/core';
import {
  deadlineSignal,
  type ManagedProcess,
  type ProcessOptions,
  readNdjson,
  spawnProcess,
} from '@starloom/wire';

const MAX_LINE_BYTES = 64 << 20;

/** A program of ours that we talk to in lines of JSON. What it writes to stderr is always drained. */
export class Child implements AsyncDisposable {
  readonly #process: ManagedProcess;
  readonly #lines: AsyncIterator<unknown>;

  static async start(options: ProcessOptions): Promise<Child> {
    return new Child(await spawnProcess(options));
  }

  private constructor(child: ManagedProcess) {
    this.#process = child;
    this.#lines = readNdjson(child.stdout, { maxLineBytes: MAX_LINE_BYTES });
  }

  get pid(): number {
    return this.#process.pid;
  }

  async send(value: unknown): Promise<void> {
    await this.#process.write(`${JSON.stringify(value)}\n`);
  }

  /** Its next line; fails when there is none in time, or the signal aborts. */
  async receive(timeoutMs: number, parent: AbortSignal): Promise<unknown> {
    using deadline = deadlineSignal({ ms: timeoutMs, parent });
    const { done, value } = await orAborted(this.#lines.next(), deadline.signal);
    if (!done) return value;
    throw this.#ended();
  }

  /** Of a program that does not talk to us: drops what it prints, and fails when it ends. */
  async ignore(): Promise<never> {
    this.#process.stdout.resume();
    await this.#process.exited;
    throw this.#ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stop();
  }

  #ended(): FabricError {
    return new FabricError('UPSTREAM_ERROR', 'A program of the bench ended', {
      details: { reason: 'ended', stderr: this.#process.stderrTail().slice(-2000) },
    });
  }
}
