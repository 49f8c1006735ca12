// Lines whose fields are known to hold no secret, written past everything that looks for one: every call
// and every request has one.

import { type Clock, toIsoTime } from '@starloom/core';

export const RANKS = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
  silent: Number.POSITIVE_INFINITY,
} as const;

export type LogLevel = keyof typeof RANKS;
export type LineLevel = 'debug' | 'info' | 'warn' | 'error';

/** Where lines go; `flush`, if there is one, calls back when they are out. */
export interface LogDestination {
  write(line: string): void;
  flush?(done: () => void): void;
}

export class LogLines {
  /** Lines below it are not written. */
  rank: number;
  readonly destination: LogDestination;
  readonly #clock: Clock;
  #alsoTo: ((line: string) => void) | undefined;

  constructor(level: LogLevel, destination: LogDestination, clock: Clock) {
    this.rank = RANKS[level];
    this.destination = destination;
    this.#clock = clock;
  }

  isEnabled(level: LineLevel): boolean {
    return RANKS[level] >= this.rank;
  }

  /** There is a field, and the message needs no escape. */
  writeClean(level: LineLevel, fields: object, message: 'call' | 'request'): void {
    if (!this.isEnabled(level)) return;
    const time = toIsoTime(this.#clock.now());
    const text = JSON.stringify(fields).slice(1, -1);
    this.write(`{"level":"${level}","time":"${time}",${text},"message":"${message}"}\n`);
  }

  write(line: string): void {
    this.destination.write(line);
    this.#alsoTo?.(line);
  }

  /** Every line is given to `listener` as well, as it was written. */
  onLine(listener: (line: string) => void): void {
    this.#alsoTo = listener;
  }
}

/** At most `length` characters, and no hold on the memory of the longer text they came from. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  return Buffer.from(`${text.slice(0, length)}…`).toString();
}
