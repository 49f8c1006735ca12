// One request and its answer, as handed over by undici's dispatcher. While the call has no room, or
// others have their turn, chunks wait here; when they are many, nothing more is read from the socket.
// (To pause undici makes it copy all that it has read but not handed over, each time.) Leaving early
// closes the connection, which shows the agent that no caller waits. After a final the rest of the
// answer gets a moment to end, so that the connection can be used again.

import type { IncomingHttpHeaders } from 'node:http';
import {
  connectionFailure,
  type ErrorDetails,
  type EventBody,
  FabricError,
  type Log,
} from '@starloom/core';
import { type Excerpt, streamTurns } from '@starloom/wire';
import type { Dispatcher } from 'undici';
import { CallEvents } from '../upstream/call-events.ts';
import type { AnswerHead, AnswerLimits, AnswerReader, ReaderContext } from './answer-reader.ts';

const LINGER_MS = 1_000;
const LINGER_BYTES = 65_536;
const UNREAD_BYTES = 65_536;

export interface ExchangeOptions<Item> {
  /** Chosen when the head of the answer is there. */
  readonly readerFor: (head: AnswerHead, context: ReaderContext<Item>) => AnswerReader;
  readonly limits: AnswerLimits;
  readonly excerpt: Excerpt;
  /** Go into the details of every failure. */
  readonly names: ErrorDetails;
  readonly log: Log;
}

export class DispatchExchange<Item extends { readonly type: string } = EventBody>
  implements Dispatcher.DispatchHandler, ReaderContext<Item>
{
  readonly events = new CallEvents<Item>();
  readonly limits: AnswerLimits;
  readonly excerpt: Excerpt;
  readonly #readerFor: ExchangeOptions<Item>['readerFor'];
  readonly #names: ErrorDetails;
  readonly #log: Log;
  #controller: Dispatcher.DispatchController | undefined;
  #reader: AnswerReader | undefined;
  #complete = false;
  readonly #unread: Buffer[] = [];
  #unreadBytes = 0;
  /** Of the chunk that is being read. */
  #steps: Iterator<unknown> | undefined;
  #isResting = false;
  #unwantedBytes = 0;
  #linger: NodeJS.Timeout | undefined;

  constructor({ readerFor, limits, excerpt, names, log }: ExchangeOptions<Item>) {
    this.#readerFor = readerFor;
    this.limits = limits;
    this.excerpt = excerpt;
    this.#names = names;
    this.#log = log;
  }

  /** Ends the call and the exchange with `reason`. */
  abort(reason: FabricError): void {
    this.events.abort(reason);
    this.#disconnect();
  }

  /** The caller does not consume the events any more. */
  leave(): void {
    if (this.events.ended) this.#disconnectSoon();
    else this.abort(NOBODY_READS);
  }

  emit(item: Item, bytes: number): void {
    this.events.push(item, bytes);
  }

  passOver(type: string): void {
    this.#log.debug({ type: this.excerpt(type) }, 'an event of the agent is passed over');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.events.ended) controller.abort(NOBODY_READS);
    else this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#guard(() => {
      this.#reader = this.#readerFor({ status, headers }, this);
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.events.ended) return void this.#discard(chunk);
    this.#unread.push(chunk);
    this.#unreadBytes += chunk.length;
    if (!this.#isResting) this.#guard(() => this.#walk(controller));
    if (this.#unreadBytes >= UNREAD_BYTES) controller.pause();
  }

  /** As far as there is room, and while others need not wait for it. */
  #walk(controller: Dispatcher.DispatchController): void {
    while (!this.events.ended && this.#step()) {
      const pause = this.events.isFull ? this.events.room() : streamTurns.enter();
      if (!pause) continue;
      this.#isResting = true;
      void pause.then(() => {
        this.#isResting = false;
        this.#guard(() => this.#walk(controller));
      });
      return;
    }
    if (this.#complete) {
      if (!this.events.ended) this.#reader?.end();
    } else if (controller.paused) controller.resume();
  }

  /** Whether there was one more. */
  #step(): boolean {
    while (this.#steps?.next().done !== false) {
      const chunk = this.#unread.shift();
      this.#steps = undefined;
      if (!chunk) return false;
      this.#unreadBytes -= chunk.length;
      this.#steps = this.#reader?.push(chunk);
    }
    return true;
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#finish();
    if (!this.events.ended && !this.#isResting) this.#guard(() => this.#walk(controller));
  }

  onResponseError(_controller: unknown, cause: Error): void {
    this.#finish();
    if (this.events.ended) return;
    const sent = this.#controller !== undefined;
    this.#fail(connectionFailure(cause, { sent, answered: this.#reader !== undefined }));
  }

  #discard(chunk: Buffer): void {
    this.#unwantedBytes += chunk.length;
    if (this.#unwantedBytes > LINGER_BYTES) this.#disconnect();
  }

  #guard(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.#fail(FabricError.from(error));
    }
  }

  #fail(error: FabricError): void {
    this.events.fail(error.with(this.#names));
    this.#disconnectSoon();
  }

  #finish(): void {
    this.#complete = true;
    clearTimeout(this.#linger);
  }

  #disconnectSoon(): void {
    if (this.#complete || this.#linger !== undefined) return;
    this.#linger = setTimeout(() => this.#disconnect(), LINGER_MS).unref();
  }

  #disconnect(): void {
    if (!this.#complete) this.#controller?.abort(NOBODY_READS);
  }
}

export const NOBODY_READS = new FabricError('CANCELLED', 'The caller stopped reading the answer');
