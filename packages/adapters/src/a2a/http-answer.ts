// One HTTP answer as undici hands it over: its head as a promise, its body pulled chunk by chunk.
// Nothing is read from the socket while the reader does not pull.

import type { IncomingHttpHeaders } from 'node:http';
import { connectionFailure, type FabricError } from '@starloom/core';
import type { Dispatcher } from 'undici';
import type { AnswerHead } from '../http/answer-reader.ts';

const HELD_BYTES = 65_536;

export class HttpAnswer implements Dispatcher.DispatchHandler {
  readonly #head = Promise.withResolvers<AnswerHead>();
  readonly #chunks: Buffer[] = [];
  #heldBytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #answered = false;
  #ended = false;
  #failure: FabricError | undefined;
  #wake: (() => void) | undefined;

  constructor() {
    // Where the reader left before the head came, its rejection is no one's.
    this.#head.promise.catch(() => {});
  }

  /** Rejects with a FabricError; `sent` is false in it when the agent was not reached. */
  get head(): Promise<AnswerHead> {
    return this.#head.promise;
  }

  /** Ends the exchange; the reader gets `reason`. */
  abort(reason: FabricError): void {
    if (this.#ended) return;
    this.#fail(reason);
    this.#controller?.abort(reason);
  }

  async *body(): AsyncGenerator<Buffer, void, undefined> {
    while (true) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#heldBytes -= chunk.length;
        if (this.#heldBytes < HELD_BYTES && this.#controller?.paused) this.#controller.resume();
        yield chunk;
        continue;
      }
      if (this.#failure) throw this.#failure;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure) controller.abort(this.#failure);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#answered = true;
    this.#head.resolve({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#chunks.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes >= HELD_BYTES) controller.pause();
    this.#wake?.();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#wake?.();
  }

  onResponseError(_controller: unknown, cause: Error): void {
    const sent = this.#controller !== undefined;
    if (!this.#ended) this.#fail(connectionFailure(cause, { sent, answered: this.#answered }));
  }

  #fail(failure: FabricError): void {
    this.#ended = true;
    this.#failure = failure;
    this.#head.reject(failure);
    this.#wake?.();
  }
}
