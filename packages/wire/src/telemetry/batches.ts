// Collects items and exports them in batches, one after the other. What comes while the collector does not
// keep up, or does not answer, is lost and counted; the log says so once, and once when it is over.

import type { Log } from '@starloom/core';

/** As the exporters of OpenTelemetry are. */
export interface Exporter<Batch> {
  export(batch: Batch, done: (result: { code: number; error?: Error }) => void): void;
  shutdown(): Promise<void>;
}

interface BatchOptions {
  /** What is exported, for the log. */
  readonly what: string;
  readonly collector: string;
  readonly log: Log;
  readonly collectMs: number;
  readonly batchSize?: number;
}

const MAX_WAITING = 2048;
const BATCH_SIZE = 512;

export class Batches<T> {
  readonly #exporter: Exporter<T[]>;
  readonly #options: BatchOptions;
  readonly #batchSize: number;
  readonly #waiting: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #lost = 0;
  #isFailing = false;

  constructor(exporter: Exporter<T[]>, options: BatchOptions) {
    this.#exporter = exporter;
    this.#options = options;
    this.#batchSize = options.batchSize ?? BATCH_SIZE;
  }

  add(item: T): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push(item);
    this.#schedule();
  }

  /** Exports what is left. */
  async close(): Promise<void> {
    while (this.#sending || this.#waiting.length > 0) await (this.#sending ?? this.#send());
    clearTimeout(this.#timer);
    await this.#exporter.shutdown();
  }

  #schedule(): void {
    if (this.#sending) return;
    if (this.#waiting.length >= this.#batchSize) void this.#send();
    else if (this.#waiting.length > 0)
      this.#timer ??= setTimeout(() => void this.#send(), this.#options.collectMs).unref();
  }

  /** Never rejects. */
  #send(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting.splice(0, this.#batchSize);
    this.#sending = new Promise<void>((resolve) => {
      this.#exporter.export(batch, ({ error }) => {
        this.#note(error, batch.length);
        resolve();
      });
    }).then(() => {
      this.#sending = undefined;
      this.#schedule();
    });
    return this.#sending;
  }

  #note(error: Error | undefined, count: number): void {
    const { what, collector, log } = this.#options;
    if (error) {
      this.#lost += count;
      if (!this.#isFailing)
        log.warn({ collector, reason: reasonOf(error) }, `${what} are not exported`);
      this.#isFailing = true;
      return;
    }
    if (this.#lost > 0) log.info({ collector, lost: this.#lost }, `${what} are exported again`);
    this.#isFailing = false;
    this.#lost = 0;
  }
}

function reasonOf(error: Error): string {
  return error.message !== '' ? error.message : 'code' in error ? String(error.code) : error.name;
}
