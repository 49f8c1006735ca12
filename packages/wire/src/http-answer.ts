// One HTTP answer as undici hands it over: its head as a promise, its body pulled chunk by chunk. While
// the reader does not pull, chunks wait here; when they are many, nothing more is read from the socket.
// (To pause undici makes it copy all that it has read but not handed over, each time.)

import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { connectionFailure, FabricError } from '@starloom/core';
import type { Dispatcher } from 'undici';
import { failure } from './reasons.ts';
import { utf8Text } from './utf8-text.ts';

const HELD_BYTES = 65_536;
const LINGER_MS = 1_000;
const LINGER_BYTES = 65_536;

export interface HttpHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export interface ReadBody {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

export class HttpAnswer implements Dispatcher.DispatchHandler {
  readonly #head = Promise.withResolvers<HttpHead>();
  /** Rejects with a FabricError; `sent` is false in it when the request did not leave. */
  readonly head = this.#head.promise;
  readonly #chunks: Buffer[] = [];
  #heldBytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #isAnswered = false;
  #isOver = false;
  #failure: FabricError | undefined;
  #wake: (() => void) | undefined;
  #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.abort(FabricError.from(this.#signal?.reason));
  #linger: NodeJS.Timeout | undefined;
  #unwantedBytes = 0;

  constructor() {
    // A reader that left before the head came does not handle its rejection.
    this.head.catch(() => {});
  }

  /** Aborts when the signal does, with its reason. */
  follow(signal: AbortSignal): void {
    this.#signal = signal;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Ends the exchange at once; the reader gets `reason` in place of what it has not read yet. */
  abort(reason: FabricError): void {
    this.#chunks.length = 0;
    if (this.#isOver) return;
    this.#end(reason);
    this.#controller?.abort(reason);
  }

  /** The reader has what it wants: the rest gets a moment to end, so that the connection is kept. */
  leave(): void {
    this.#chunks.length = 0;
    if (this.#isOver || this.#linger) return;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#linger = setTimeout(() => this.abort(LEFT), LINGER_MS).unref();
    if (this.#controller?.paused) this.#controller.resume();
  }

  /** The chunks of the body; UPSTREAM_ERROR when they are more than `limit` bytes in total. */
  async *body(limit = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer, void, undefined> {
    for (let bytes = 0; ; ) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#heldBytes -= chunk.length;
        bytes += chunk.length;
        if (bytes > limit) throw failure('stream_too_large', { limit });
        if (this.#heldBytes < HELD_BYTES && this.#controller?.paused) this.#controller.resume();
        yield chunk;
        continue;
      }
      if (this.#failure) throw this.#failure;
      if (this.#isOver) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The body up to `limit`, and whether that is all of it; the exchange ends with it. */
  async read(limit: number): Promise<ReadBody> {
    const body = new BoundedBody(limit);
    for await (const chunk of this.body()) {
      if (body.push(chunk)) continue;
      this.abort(LEFT);
      return { bytes: body.toBuffer(), isWhole: false };
    }
    return { bytes: body.toBuffer(), isWhole: true };
  }

  /** The whole body as text; UPSTREAM_ERROR when it is larger than `limit` bytes or not UTF-8. */
  async text(limit: number): Promise<string> {
    const { headers } = await this.head;
    const isTooLarge = Number(headers['content-length']) > limit;
    const { bytes, isWhole } = isTooLarge ? NOTHING : await this.read(limit);
    if (!isWhole) throw failure('result_too_large', { limit });
    if (!isUtf8(bytes)) throw failure('invalid_utf8');
    return utf8Text(bytes);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure) controller.abort(this.#failure);
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#isAnswered = true;
    this.#head.resolve({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#linger) {
      this.#unwantedBytes += chunk.length;
      if (this.#unwantedBytes > LINGER_BYTES) this.abort(LEFT);
      return;
    }
    this.#chunks.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes >= HELD_BYTES) controller.pause();
    this.#wake?.();
  }

  onResponseEnd(): void {
    this.#end(undefined);
  }

  onResponseError(_: unknown, cause: Error): void {
    const progress = { sent: this.#controller !== undefined, answered: this.#isAnswered };
    this.#end(connectionFailure(cause, progress));
  }

  #end(failure: FabricError | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    clearTimeout(this.#linger);
    this.#signal?.removeEventListener('abort', this.#onAbort);
    if (failure) this.#head.reject(failure);
    this.#wake?.();
  }
}

/** The chunks of a body up to a limit. */
export class BoundedBody {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Keeps what fits, and says whether that was all. */
  push(chunk: Buffer): boolean {
    const kept = chunk.subarray(0, this.#limit - this.#length);
    this.#chunks.push(kept);
    this.#length += kept.length;
    return kept.length === chunk.length;
  }

  toBuffer(): Buffer {
    const [first] = this.#chunks;
    return first && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
  }
}

const NOTHING: ReadBody = { bytes: Buffer.alloc(0), isWhole: false };

const LEFT = failure('not_read');
