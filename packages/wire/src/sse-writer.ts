// Server-sent events towards one reader that may be slow, stuck or gone. What waits for the reader
// is bounded by `maxBufferedBytes`; a reader that takes nothing for `stallMs` turns into an error
// for the sender, who decides what then happens to the stream.

import type { Writable } from 'node:stream';
import type { FabricError } from '@starloom/core';
import { deadlineSignal, type TimerWheel, timerWheelOf, type WheelTimer } from './deadline.ts';
import { atTurnEnd } from './fair-turns.ts';
import { failure } from './reasons.ts';
import type { MonotonicClock } from './timer-buckets.ts';
import { isOpen, whenDrained } from './when-drained.ts';

/** What the response says before the first event. */
export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

export interface SseMessage {
  readonly event?: string;
  /** Line ends of any kind arrive as \n. */
  readonly data: string;
  readonly id?: string;
}

interface SseWriterOptions {
  /** How often a comment shows that the stream lives; none by default. */
  readonly keepAliveMs?: number;
  /** How long the reader may take nothing; 30 seconds by default. */
  readonly stallMs?: number;
  /** How much may wait for the reader beside one message; 1 MiB by default. */
  readonly maxBufferedBytes?: number;
  readonly clock?: MonotonicClock;
}

/** `response` is what `http` hands out, its head already written, or any other byte stream. */
export function createSseWriter(response: Writable, options: SseWriterOptions = {}): SseWriter {
  return new SseWriter(response, options);
}

export class SseWriter implements AsyncDisposable {
  /** Settles, and never rejects, when the stream is over: closed by us, or left by the reader. */
  readonly closed: Promise<'ended' | 'left'>;
  readonly #response: Writable;
  readonly #stallMs: number;
  readonly #maxBufferedBytes: number;
  readonly #clock: MonotonicClock | undefined;
  readonly #wheel: TimerWheel;
  #keepAlive: WheelTimer | undefined;
  #fullSince = 0;
  #isCorked = false;
  /** Node 22 calls a response that was destroyed before its last byte left finished, too. */
  #isCutOff = false;

  constructor(response: Writable, options: SseWriterOptions) {
    this.#response = response;
    this.#stallMs = options.stallMs ?? 30_000;
    this.#maxBufferedBytes = options.maxBufferedBytes ?? 1_048_576;
    this.#clock = options.clock;
    this.#wheel = timerWheelOf(options.clock);
    this.closed = new Promise((resolve) => {
      const settle = () => {
        this.#keepAlive?.unlink();
        resolve(response.writableFinished && !this.#isCutOff ? 'ended' : 'left');
      };
      if (response.destroyed) settle();
      else response.once('close', settle);
      // What went wrong shows in `send` and `closed`; unheard, it would end the process.
      response.on('error', () => {});
    });
    if (options.keepAliveMs !== undefined && isOpen(response)) {
      this.#keepAliveEvery(options.keepAliveMs);
    }
  }

  /** For how long the reader has taken nothing, in milliseconds; 0 while it keeps up. */
  get stalledMs(): number {
    return this.#response.writableNeedDrain ? this.#wheel.now() - this.#fullSince : 0;
  }

  /**
   * Writes the messages in one go and resolves when the reader takes more. Rejects with BAD_INPUT
   * (a line end in `event` or `id`), OVERLOADED (`details.reason` is `reader_stalled`, or
   * `buffer_full` for a sender that does not wait) or CANCELLED (the reader is gone).
   */
  async send(...messages: readonly SseMessage[]): Promise<void> {
    await this.#write(messages.map(toText).join(''));
  }

  /** Ends the stream; a reader that does not take the rest within `stallMs` is cut off. */
  async close(): Promise<void> {
    this.#keepAlive?.unlink();
    if (isOpen(this.#response)) this.#response.end();
    const patience = this.#wheel.schedule(this.#stallMs, () => {
      this.#isCutOff = true;
      this.#response.destroy();
    });
    await this.closed;
    patience.unlink();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #write(text: string): Promise<void> {
    if (!isOpen(this.#response)) throw this.#closedError(this.#response.errored);
    if (this.#response.writableNeedDrain) this.#assertRoomFor(text);
    if (this.#put(text)) return;
    using patience = deadlineSignal({
      ms: this.#stallMs - this.stalledMs,
      reason: () => this.#overloaded('reader_stalled'),
      clock: this.#clock,
    });
    await whenDrained(this.#response, {
      signal: patience.signal,
      whenClosed: (cause) => this.#closedError(cause),
    });
  }

  /** What is written in one turn of the event loop leaves together: each write wakes the reader up. */
  #put(text: string): boolean {
    const wasFull = this.#response.writableNeedDrain;
    if (!this.#isCorked) this.#cork();
    const takesMore = this.#response.write(text);
    if (!takesMore && !wasFull) this.#fullSince = this.#wheel.now();
    return takesMore;
  }

  #cork(): void {
    this.#isCorked = true;
    this.#response.cork();
    atTurnEnd(() => {
      this.#isCorked = false;
      this.#response.uncork();
    });
  }

  #assertRoomFor(text: string): void {
    if (this.stalledMs >= this.#stallMs) throw this.#overloaded('reader_stalled');
    const buffered = this.#response.writableLength + Buffer.byteLength(text);
    if (buffered > this.#maxBufferedBytes) throw this.#overloaded('buffer_full');
  }

  #keepAliveEvery(ms: number): void {
    this.#keepAlive = this.#wheel.schedule(ms, () => {
      if (!isOpen(this.#response)) return;
      if (!this.#response.writableNeedDrain) this.#put(':\n\n');
      this.#keepAliveEvery(ms);
    });
  }

  #overloaded(reason: 'reader_stalled' | 'buffer_full'): FabricError {
    return failure(reason, {
      stalled_ms: Math.round(this.stalledMs),
      buffered_bytes: this.#response.writableLength,
    });
  }

  #closedError(cause: unknown): FabricError {
    const byUs = this.#response.writableEnded;
    return failure(byUs ? 'stream_ended' : 'reader_left', {}, { cause });
  }
}

function toText({ event, id, data }: SseMessage): string {
  let text = '';
  if (event !== undefined) text += `event: ${singleLine('event', event)}\n`;
  if (id !== undefined) text += `id: ${singleLine('id', id)}\n`;
  if (!data.includes('\n') && !data.includes('\r')) return `${text}data: ${data}\n\n`;
  for (const line of data.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  return `${text}\n`;
}

function singleLine(field: string, value: string): string {
  if (!['\r', '\n', '\0'].some((character) => value.includes(character))) return value;
  throw failure('line_end', { field });
}
