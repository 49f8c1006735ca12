// Carries the events of one call from the reader of the agent to the consumer of the call. Holds a
// bounded amount: a reader that sees `isFull` waits for `room` and leaves the agent's output where
// it is. The first final or failure ends the call; what the agent says after it is dropped.

import { assertWanted, type EventBody, FabricError } from '@starloom/core';
import { failure } from '../reasons.ts';

/** In bytes as the agent sent them; one event more may be held. */
const CAPACITY = 65_536;
/** What an event costs besides its text. */
const EVENT_BYTES = 64;

interface Held {
  /** An event, or what is done when its turn comes. */
  readonly next: EventBody | (() => Promise<void>);
  readonly bytes: number;
}

export class CallEvents implements AsyncIterable<EventBody> {
  readonly #maxBytes: number;
  #bytes = 0;
  readonly #held: Held[] = [];
  #heldBytes = 0;
  #produced = false;
  #ended = false;
  #abandoned = false;
  #failure: FabricError | undefined;
  #consumer: PromiseWithResolvers<void> | undefined;
  #room: PromiseWithResolvers<void> | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** UPSTREAM_ERROR when the agent wrote more for the call than its manifest allows. */
  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) throw failure('output_too_large', { limit: this.#maxBytes });
  }

  /** Whether the agent said anything at all. */
  get hasEvents(): boolean {
    return this.#produced;
  }

  get isFull(): boolean {
    return this.#heldBytes >= CAPACITY;
  }

  push(body: EventBody, bytes: number): void {
    if (this.#ended || this.#abandoned) return;
    this.#produced = true;
    this.#held.push({ next: body, bytes: bytes + EVENT_BYTES });
    this.#heldBytes += bytes + EVENT_BYTES;
    if (body.type === 'final') this.#end();
    else this.#consumer?.resolve();
  }

  /**
   * Does `work` once the events before it were consumed; the next event waits for it, and its failure
   * ends the call. Dropped, as events are, when the call ends before its turn comes.
   */
  defer(work: () => Promise<void>): void {
    if (this.#ended || this.#abandoned) return;
    this.#held.push({ next: work, bytes: EVENT_BYTES });
    this.#heldBytes += EVENT_BYTES;
    this.#consumer?.resolve();
  }

  /** Ends the call with `error`, once the events before it were consumed. */
  fail(error: FabricError): void {
    if (this.#ended) return;
    this.#failure = error;
    this.#end();
  }

  /**
   * Ends the call with `error` at once; even a final that the consumer has not taken yet is lost.
   */
  abort(error: FabricError): void {
    this.#failure = error;
    this.#drop();
    this.#end();
  }

  /** Resolves when the reader may push more, or the consumer wants no more. */
  room(): Promise<void> {
    if (!this.isFull || this.#ended) return Promise.resolve();
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** The events until the signal aborts; `leave` is called once, when no more of them are wanted. */
  async *readUntil(
    signal: AbortSignal,
    leave: () => void,
  ): AsyncGenerator<EventBody, void, undefined> {
    let isLeft = false;
    const onAbort = () => {
      isLeft = true;
      this.abort(FabricError.from(signal.reason));
      leave();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      assertWanted(signal);
      yield* this;
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (!isLeft) leave();
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EventBody, void, undefined> {
    try {
      while (true) {
        const held = this.#held.shift();
        if (held !== undefined) {
          this.#heldBytes -= held.bytes;
          if (!this.isFull) this.#makeRoom();
          if (typeof held.next === 'function') await held.next();
          else yield held.next;
          continue;
        }
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#ended) return;
        this.#consumer = Promise.withResolvers();
        await this.#consumer.promise;
      }
    } finally {
      this.#abandoned = true;
      this.#drop();
    }
  }

  #drop(): void {
    this.#held.length = 0;
    this.#heldBytes = 0;
    this.#makeRoom();
  }

  #end(): void {
    this.#ended = true;
    this.#consumer?.resolve();
    this.#makeRoom();
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
