// Takes the entries of the audit log. They are written in batches, in order, a few milliseconds after they
// were made; a mint waits until its line is in the file. Where a line cannot be written, nothing is
// skipped in silence: entries wait within bounds, and what had to be dropped is counted in the log itself.

import type { Clock } from '@starloom/core';
import { AuditFiles, type AuditLogOptions, notWritten, type TimedEntry } from './audit-files.ts';
import type { AuditEntry } from './audit-record.ts';

interface Waiting extends TimedEntry {
  /** For a caller that waits for the line. */
  readonly written?: PromiseWithResolvers<void>;
}

const MAX_WAITING = 100_000;
const RETRY_MS = 1_000;
/** How long an entry that no caller waits for may wait for others. */
const BATCH_MS = 50;
const SEAL_MS = 5_000;
/** Lines for refused credentials, each second: callers without one must not fill the log. */
const DENIED_PER_SECOND = 20;

export class AuditLog {
  /** Where its files are. */
  readonly folder: string;
  readonly #clock: Clock;
  readonly #files: AuditFiles;
  readonly #sealing: NodeJS.Timeout;
  #waiting: Waiting[] = [];
  #lost = 0;
  #flushing: Promise<void> | undefined;
  #batching: NodeJS.Timeout | undefined;
  #denied = { second: 0, count: 0 };
  /** From now on batches are written at once. */
  #closing = false;
  #closed = false;

  private constructor(options: AuditLogOptions) {
    this.folder = options.folder;
    this.#clock = options.clock;
    this.#files = new AuditFiles(options);
    this.#sealing = setInterval(() => this.#seal(), SEAL_MS).unref();
  }

  static async open(options: AuditLogOptions): Promise<AuditLog> {
    const log = new AuditLog(options);
    await log.#files.open();
    return log;
  }

  /** Rejects while entries cannot be written. */
  async check(): Promise<void> {
    if (this.#files.failure) throw this.#files.failure;
  }

  /** Written soon; never throws and never waits. */
  record(entry: AuditEntry): void {
    this.#add({ entry, at: this.#clock.now() });
  }

  /** Resolves when the line is in the file; OVERLOADED when it cannot be written. */
  async recorded(entry: AuditEntry): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#add({ entry, at: this.#clock.now(), written });
    await written.promise;
  }

  /** A credential that was refused; many in one second share a line. */
  denied(credential: string, reason: string, trace_id?: string): void {
    const second = Math.floor(this.#clock.now() / 1000);
    const before = this.#denied;
    if (before.second !== second) {
      const more = before.count - DENIED_PER_SECOND;
      if (more > 0) this.record({ type: 'denied', credential: 'any', reason: 'many', more });
      this.#denied = { second, count: 0 };
    }
    this.#denied.count += 1;
    if (this.#denied.count <= DENIED_PER_SECOND) {
      this.record({ type: 'denied', credential, reason, ...(trace_id && { trace_id }) });
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sealing);
    this.#closing = true;
    if (this.#waiting.length > 0) this.#flushSoon();
    while (this.#flushing) await this.#flushing;
    this.#closed = true;
    await this.#files.end();
  }

  #add(waiting: Waiting): void {
    if (this.#closed || this.#waiting.length >= MAX_WAITING) {
      this.#lost += 1;
      waiting.written?.reject(this.#files.failure ?? notWritten());
      return;
    }
    this.#waiting.push(waiting);
    if (waiting.written) this.#flushSoon();
    else if (!this.#flushing) this.#flushLater();
  }

  #flushLater(): void {
    this.#batching ??= setTimeout(() => this.#flushSoon(), BATCH_MS).unref();
  }

  /** One flush at a time; what comes meanwhile goes with the next batch, at once if a caller waits. */
  #flushSoon(): void {
    clearTimeout(this.#batching);
    this.#batching = undefined;
    this.#flushing ??= new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#flush())
      .then((isDone) => {
        this.#flushing = undefined;
        if (!isDone || this.#waiting.length === 0) return;
        const isAwaited = this.#waiting.some(({ written }) => written);
        if (isAwaited || this.#closing) this.#flushSoon();
        else this.#flushLater();
      });
  }

  /** False when it is tried again later. */
  async #flush(): Promise<boolean> {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      const lost = this.#lost;
      await this.#files.write(this.#withLost(batch, lost));
      this.#lost -= lost;
      for (const { written } of batch.splice(0)) written?.resolve();
      await this.#files.settle();
      return true;
    } catch (error) {
      const reason = this.#files.failed(error);
      for (const { written } of batch) written?.reject(reason);
      this.#waiting = [...batch.filter(({ written }) => !written), ...this.#waiting];
      setTimeout(() => this.#flushSoon(), RETRY_MS).unref();
      return false;
    }
  }

  /** Adds a record that says how many entries were dropped. */
  #withLost(waiting: readonly Waiting[], lost: number): readonly Waiting[] {
    if (lost === 0) return waiting;
    const entry = { type: 'lost', entries: lost } as const;
    return [{ entry, at: this.#clock.now() }, ...waiting];
  }

  #seal(): void {
    if (this.#flushing || this.#closed || this.#files.unsealed === 0) return;
    this.#flushing = this.#files.seal().then(() => {
      this.#flushing = undefined;
      if (this.#waiting.length > 0) this.#flushSoon();
    });
  }
}
