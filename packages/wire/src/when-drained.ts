// Waiting for a stream that is full. However many wait for one stream, it carries one set of
// listeners, and none once no writer waits.

import type { Writable } from 'node:stream';
import { FabricError } from '@starloom/core';

interface WhenDrainedOptions {
  readonly signal?: AbortSignal | undefined;
  /** The error of a stream that closed instead; `cause` is what it failed with, if it said. */
  readonly whenClosed: (cause: unknown) => FabricError;
}

/** Resolves once `writable` takes more or has finished; rejects when it closes or `signal` aborts. */
export function whenDrained(writable: Writable, options: WhenDrainedOptions): Promise<void> {
  const { signal, whenClosed } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(FabricError.from(signal.reason));
    if (!isOpen(writable)) return reject(whenClosed(writable.errored));
    if (!writable.writableNeedDrain) return resolve();

    const waiters = waitersOf(writable);
    const settle = (outcome: Outcome) => {
      waiters.delete(settle);
      signal?.removeEventListener('abort', abort);
      if (outcome === 'drained') resolve();
      else if (outcome === 'closed') reject(whenClosed(writable.errored));
      else reject(FabricError.from(signal?.reason));
    };
    const abort = () => settle('aborted');
    signal?.addEventListener('abort', abort);
    waiters.add(settle);
  });
}

/** Whether a write may still arrive. `writable.writable` alone stays true on a lost HTTP response. */
export function isOpen(writable: Writable): boolean {
  return writable.writable && !writable.destroyed && !writable.writableEnded;
}

type Outcome = 'drained' | 'closed' | 'aborted';
type Waiter = (outcome: Outcome) => void;

class Waiters {
  readonly #writable: Writable;
  readonly #waiting = new Set<Waiter>();
  readonly #onDrained = () => this.#settle('drained');
  readonly #onClosed = () => this.#settle('closed');

  constructor(writable: Writable) {
    this.#writable = writable;
  }

  add(waiter: Waiter): void {
    this.#waiting.add(waiter);
    if (this.#waiting.size > 1) return;
    this.#writable.on('drain', this.#onDrained).on('finish', this.#onDrained);
    this.#writable.on('close', this.#onClosed).on('error', this.#onClosed);
  }

  delete(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    if (this.#waiting.size > 0) return;
    this.#writable.off('drain', this.#onDrained).off('finish', this.#onDrained);
    this.#writable.off('close', this.#onClosed).off('error', this.#onClosed);
  }

  #settle(outcome: Outcome): void {
    for (const waiter of this.#waiting) waiter(outcome);
  }
}

const waiting = new WeakMap<Writable, Waiters>();

function waitersOf(writable: Writable): Waiters {
  let waiters = waiting.get(writable);
  if (waiters === undefined) {
    waiters = new Waiters(writable);
    waiting.set(writable, waiters);
  }
  return waiters;
}
