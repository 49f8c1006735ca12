// The last record that was acknowledged, in a small file beside the log. SQLite ends a damaged log
// at the last transaction that is whole, without a word; by the mark that is noticed. It is written
// after the record is on disk, and not flushed: it is never ahead of the log, and what is lost of it
// with the power is only the notice.

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import type { MissingRecords } from './log-messages.ts';

const LENGTH = 64;

export class LogMark {
  readonly #file: number;
  readonly #id: number;

  /** `id` is that of the log: a mark of another one says that this one was replaced. */
  constructor(path: string, id: number) {
    this.#file = openSync(`${path}-mark`, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#id = id;
  }

  /** Which records are missing of a log whose last one is `last`. */
  missingAfter(last: number): MissingRecords | undefined {
    const buffer = Buffer.alloc(LENGTH);
    const length = readSync(this.#file, buffer, 0, LENGTH, 0);
    const [, id, sequence] = /^(\d+) (\d+) *\n$/.exec(buffer.toString('utf8', 0, length)) ?? [];
    if (id === undefined || sequence === undefined) return undefined;
    const kept = Number(id) === this.#id ? last : 0;
    const acknowledged = Number(sequence);
    return acknowledged > kept ? { first: kept + 1, last: acknowledged } : undefined;
  }

  write(last: number): void {
    const text = `${this.#id} ${last}`.padEnd(LENGTH - 1);
    writeSync(this.#file, `${text}\n`, 0);
  }

  close(): void {
    closeSync(this.#file);
  }
}
