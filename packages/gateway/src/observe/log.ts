// The log: one JSON object per line, by default to stderr, since stdout may belong to the stdio
// transport. Whatever is logged through `log` is redacted first.

import { type Clock, createTrace, type Log, type LogFields, systemClock } from '@starloom/core';
import { type DestinationStream, type Logger, pino } from 'pino';
import { LineSink } from './line-sink.ts';
import { redactFields, redactText } from './redact.ts';

const RANKS = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
  silent: Number.POSITIVE_INFINITY,
} as const;

export type LogLevel = keyof typeof RANKS;
type LineLevel = 'debug' | 'info' | 'warn' | 'error';

/** Where lines go; `flush`, if there is one, calls back when they are out. */
export type LogDestination = DestinationStream & { flush?(done: () => void): void };

export interface LogOptions {
  readonly level: LogLevel;
  readonly destination?: LogDestination | undefined;
  readonly clock?: Clock | undefined;
}

export class RootLog {
  readonly log: Log;
  readonly #pino: Logger;
  readonly #threshold: Threshold;
  readonly #destination: LogDestination;
  readonly #clock: Clock;
  readonly #time = new LineTime();

  constructor({ level, destination, clock = systemClock }: LogOptions) {
    this.#clock = clock;
    this.#threshold = { rank: RANKS[level] };
    this.#destination = destination ?? new LineSink(undefined, (lost) => this.#lost(lost));
    this.#pino = pino(
      {
        level: 'trace',
        base: null,
        messageKey: 'message',
        timestamp: () => `,"time":"${this.#time.at(clock.now())}"`,
        formatters: { level: (label) => ({ level: label }) },
      },
      this.#destination,
    );
    this.log = new RedactingLog(this.#pino, this.#threshold, runTrace());
  }

  setLevel(level: LogLevel): void {
    this.#threshold.rank = RANKS[level];
  }

  isEnabled(level: LineLevel): boolean {
    return RANKS[level] >= this.#threshold.rank;
  }

  /** A line whose fields are known to hold no secret, written past everything that looks for one. */
  writeClean(level: LineLevel, fields: LogFields, message: string): void {
    if (!this.isEnabled(level)) return;
    const time = this.#time.at(this.#clock.now());
    this.#destination.write(`${JSON.stringify({ level, time, ...fields, message })}\n`);
  }

  flush(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#destination.flush) this.#destination.flush(resolve);
      else resolve();
    });
  }

  #lost(lines: number): void {
    this.log.warn({ lines }, 'log lines were lost');
  }
}

/** The time as lines have it; many are written in the same millisecond. */
class LineTime {
  #now = Number.NaN;
  #text = '';

  at(now: number): string {
    if (now !== this.#now) {
      this.#now = now;
      this.#text = new Date(now).toISOString();
    }
    return this.#text;
  }
}

/** Shared by a logger and all its children, so that a change reaches every one of them. */
interface Threshold {
  rank: number;
}

class RedactingLog implements Log {
  readonly #pino: Logger;
  readonly #threshold: Threshold;
  readonly #trace: LogFields | undefined;

  /** `trace` is for lines that name none themselves; children of a call have it in their fields. */
  constructor(logger: Logger, threshold: Threshold, trace: LogFields | undefined) {
    this.#pino = logger;
    this.#threshold = threshold;
    this.#trace = trace;
  }

  debug(fields: LogFields, message: string): void {
    this.#write('debug', fields, message);
  }

  info(fields: LogFields, message: string): void {
    this.#write('info', fields, message);
  }

  warn(fields: LogFields, message: string): void {
    this.#write('warn', fields, message);
  }

  error(fields: LogFields, message: string): void {
    this.#write('error', fields, message);
  }

  child(fields: LogFields): Log {
    const trace = 'trace_id' in fields ? undefined : this.#trace;
    return new RedactingLog(this.#pino.child(redactFields(fields)), this.#threshold, trace);
  }

  #write(level: LineLevel, fields: LogFields, message: string): void {
    if (RANKS[level] < this.#threshold.rank) return;
    const clean = redactFields(fields);
    const line = this.#trace && !('trace_id' in clean) ? { ...this.#trace, ...clean } : clean;
    this.#pino[level](line, redactText(message));
  }
}

/** What belongs to no call belongs to the run of this process: so every line has a trace. */
function runTrace(): LogFields {
  const { trace_id, span_id } = createTrace();
  return { trace_id, span_id };
}
