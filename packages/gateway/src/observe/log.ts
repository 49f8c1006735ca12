// The log: one JSON object per line, by default to stderr, since stdout may belong to the stdio
// transport. Whatever is logged through `log` is redacted first.

import { fstatSync, write, writeSync } from 'node:fs';
import {
  type Clock,
  createTrace,
  type Log,
  type LogFields,
  systemClock,
  toIsoTime,
} from '@starloom/core';
import { type Logger, pino } from 'pino';
import {
  type LineLevel,
  type LogDestination,
  type LogLevel,
  LogLines,
  RANKS,
} from './log-lines.ts';
import { redactFields, redactText } from './redact.ts';

interface LogOptions {
  readonly level: LogLevel;
  readonly destination?: LogDestination | undefined;
  readonly clock?: Clock | undefined;
}

export class RootLog extends LogLines {
  readonly log: Log;

  constructor({ level, destination, clock = systemClock }: LogOptions) {
    super(level, destination ?? new LineSink(undefined, (lines) => this.#lost(lines)), clock);
    const logger = pino(
      {
        level: 'trace',
        base: null,
        messageKey: 'message',
        timestamp: () => `,"time":"${toIsoTime(clock.now())}"`,
        formatters: { level: (label) => ({ level: label }) },
      },
      { write: (line) => this.write(line) },
    );
    this.log = new RedactingLog(logger, this, runTrace());
  }

  /** For the loggers of all calls, too. */
  setLevel(level: LogLevel): void {
    this.rank = RANKS[level];
  }

  flush(): Promise<void> {
    return new Promise((resolve) => {
      if (this.destination.flush) this.destination.flush(resolve);
      else resolve();
    });
  }

  #lost(lines: number): void {
    this.log.warn({ lines }, 'log lines were lost');
  }
}

class RedactingLog implements Log {
  readonly #pino: Logger;
  readonly #root: LogLines;
  readonly #trace: LogFields | undefined;

  /** `trace` is for lines that name none themselves; children of a call have it in their fields. */
  constructor(logger: Logger, root: LogLines, trace: LogFields | undefined) {
    this.#pino = logger;
    this.#root = root;
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
    return new RedactingLog(this.#pino.child(redactFields(fields)), this.#root, trace);
  }

  #write(level: LineLevel, fields: LogFields, message: string): void {
    if (!this.#root.isEnabled(level)) return;
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

// Writes lines to a file descriptor in batches and never gets in the way: a full disk or a reader
// that is gone costs lines, which are counted, and neither an exception nor memory. What is not
// written when the process ends is written then, without waiting for a reader that is stuck.

const BATCH_LENGTH = 16 * 1024;
const BATCH_MS = 50;
const RETRY_MS = 20;
const MAX_PENDING_LENGTH = 8 * 1024 ** 2;
const EXIT_RETRIES = 5;
const STDERR = 2;

/** Sinks with something left to write; the hook is one for all of them. */
const unwritten = new Set<LineSink>();
let hooked = false;

export class LineSink {
  readonly #fd: number;
  readonly #write: WriteBatch;
  readonly #onResumed: (lost: number) => void;
  #pending = '';
  #pendingLines = 0;
  #batch: Buffer | undefined;
  #batchLines = 0;
  #inFlight = false;
  #timer: NodeJS.Timeout | undefined;
  #lost = 0;
  #waiting: (() => void)[] = [];
  #waitingForBatch: (() => void)[] = [];

  /** `onResumed` learns how many lines were lost, once writing works again. */
  constructor(fd: number = STDERR, onResumed: (lost: number) => void = () => {}) {
    this.#fd = fd;
    this.#write = fd === STDERR && isPipe(fd) ? writeToStderrPipe() : writeTo(fd);
    this.#onResumed = onResumed;
  }

  write(line: string): void {
    if (this.#pending.length >= MAX_PENDING_LENGTH) {
      this.#lost += 1;
      return;
    }
    this.#pending += line;
    this.#pendingLines += 1;
    if (this.#pending.length >= BATCH_LENGTH) this.#writeBatch();
    else if (this.#timer === undefined && this.#batch === undefined) this.#schedule();
  }

  /** Calls back when every line so far is written, or lost. */
  flush(done: () => void): void {
    this.#waiting.push(done);
    this.#writeBatch();
  }

  /** For the end of the process: what is on its way already is left to it. */
  flushSync(): void {
    const waiting = this.#inFlight ? [] : (this.#batch ?? []);
    const left = Buffer.concat([Buffer.from(waiting), Buffer.from(this.#pending)]);
    this.#pending = '';
    this.#pendingLines = 0;
    writeAll(this.#fd, left);
  }

  #schedule(): void {
    watchExit(this);
    this.#timer = setTimeout(() => this.#writeBatch(), BATCH_MS).unref();
  }

  #writeBatch(): void {
    if (this.#batch !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#batch = Buffer.from(this.#pending);
    this.#batchLines = this.#pendingLines;
    this.#pending = '';
    this.#pendingLines = 0;
    this.#waitingForBatch = this.#waiting;
    this.#waiting = [];
    if (this.#batch.length === 0) this.#finishBatch();
    else this.#writeRest(this.#batch);
  }

  #writeRest(rest: Buffer): void {
    watchExit(this);
    this.#batch = rest;
    this.#inFlight = true;
    this.#write(rest, (error, written) => {
      this.#inFlight = false;
      if (isBusy(error)) setTimeout(() => this.#writeRest(rest), RETRY_MS).unref();
      else if (error) {
        this.#lost += this.#batchLines;
        this.#finishBatch();
      } else if (written < rest.length) this.#writeRest(rest.subarray(written));
      else {
        this.#finishBatch();
        this.#reportLost();
      }
    });
  }

  #finishBatch(): void {
    this.#batch = undefined;
    for (const done of this.#waitingForBatch.splice(0)) done();
    if (this.#waiting.length > 0 || this.#pending.length >= BATCH_LENGTH) this.#writeBatch();
    else if (this.#pending !== '') this.#schedule();
    else unwritten.delete(this);
  }

  #reportLost(): void {
    if (this.#lost === 0) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.#onResumed(lost);
  }
}

type WriteBatch = (
  batch: Buffer,
  done: (error: Error | null | undefined, written: number) => void,
) => void;

function writeTo(fd: number): WriteBatch {
  return (batch, done) => write(fd, batch, 0, batch.length, null, done);
}

/**
 * Not by `fs.write`: in a pipe without a reader it holds a thread for good, and with it the end of
 * the process. The stream of Node waits without one.
 */
function writeToStderrPipe(): WriteBatch {
  const { stderr } = process;
  if (!stderr.listeners('error').includes(ignore)) stderr.on('error', ignore);
  return (batch, done) => stderr.write(batch, (error) => done(error, batch.length));
}

function ignore(): void {}

function isPipe(fd: number): boolean {
  const stats = fstatSync(fd);
  return stats.isFIFO() || stats.isSocket();
}

function watchExit(sink: LineSink): void {
  unwritten.add(sink);
  if (hooked) return;
  hooked = true;
  process.on('exit', () => {
    for (const left of unwritten) left.flushSync();
  });
}

function writeAll(fd: number, buffer: Buffer): void {
  let retries = EXIT_RETRIES;
  for (let offset = 0; offset < buffer.length; ) {
    try {
      offset += writeSync(fd, buffer, offset);
    } catch (error) {
      if (!isBusy(error) || retries === 0) return;
      retries -= 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

function isBusy(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'EAGAIN' || error.code === 'EBUSY';
}
