// One process that many calls share: started by the first call, replaced by the next call after it
// died. One that dies before it has served a call is not started again at once: until its time has
// come calls are refused, so that they can go elsewhere.

import { Backoff, type Clock } from '@starloom/core';
import { failure } from '../reasons.ts';

const RESTARTS = { firstMs: 100, longestMs: 30_000 };

interface SharableProcess {
  /** How many calls it has brought to an end itself. */
  readonly served: number;
  /** Resolves once it takes no more calls. */
  readonly closed: Promise<void>;
}

export class SharedProcess<Process extends SharableProcess> {
  readonly #start: () => Promise<Process>;
  readonly #backoff: Backoff;
  #current: Promise<Process> | undefined;
  #running: Process | undefined;

  constructor(start: () => Promise<Process>, clock: Clock) {
    this.#start = start;
    this.#backoff = new Backoff(RESTARTS, clock);
  }

  /** The process that takes calls now, if one does. */
  get running(): Process | undefined {
    return this.#running;
  }

  /** How long no process is started; 0 when one may be. */
  get backoffMs(): number {
    return Math.ceil(this.#backoff.remainingMs());
  }

  /** Rejects with AGENT_OFFLINE, nothing having been sent. */
  async acquire(): Promise<Process> {
    if (this.#current === undefined) this.#assertRested();
    this.#current ??= this.#open();
    return this.#current;
  }

  async #open(): Promise<Process> {
    try {
      const process = await this.#start();
      this.#running = process;
      void process.closed.then(() => this.#onClosed(process));
      return process;
    } catch (error) {
      this.#current = undefined;
      throw error;
    }
  }

  #onClosed({ served }: Process): void {
    this.#current = undefined;
    this.#running = undefined;
    if (served > 0) this.#backoff.succeeded();
    else this.#backoff.failed();
  }

  #assertRested(): void {
    const retry_after_ms = this.backoffMs;
    if (retry_after_ms > 0) throw failure('backing_off', { retry_after_ms });
  }
}
