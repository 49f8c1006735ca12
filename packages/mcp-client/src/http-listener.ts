// The stream on which an older server sends what belongs to no request (GET on its address). Many
// servers offer none; one that breaks is opened again, ever more slowly, until `close`.

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { Backoff } from '@starloom/core';
import { closedFailure } from './closed-failure.ts';
import type { HttpStream, StreamFailure, StreamListener } from './http-stream.ts';

const RETRY = { firstMs: 500, longestMs: 30_000 };

export interface HttpListenerOptions {
  readonly open: (listener: StreamListener, lastEventId: string | undefined) => HttpStream;
  readonly onMessage: (message: JSONRPCMessage) => void;
}

export class HttpListener implements StreamListener {
  isOpen = false;
  readonly #options: HttpListenerOptions;
  #stream: HttpStream;
  readonly #backoff = new Backoff(RETRY);
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#stream = options.open(this, undefined);
  }

  onOpen(): void {
    this.isOpen = true;
  }

  onMessage(message: JSONRPCMessage): void {
    this.#backoff.succeeded();
    this.#options.onMessage(message);
  }

  onClose(failure: StreamFailure | undefined): void {
    this.isOpen = false;
    if (this.#isClosed || (failure?.response && failure.response.status < 500)) return;
    const { lastEventId, retryMs } = this.#stream;
    this.#timer = setTimeout(
      () => {
        this.#stream = this.#options.open(this, lastEventId);
      },
      Math.min(Math.max(retryMs ?? 0, this.#backoff.failed()), RETRY.longestMs),
    ).unref();
  }

  close(): void {
    this.#isClosed = true;
    this.isOpen = false;
    clearTimeout(this.#timer);
    this.#stream.abort(closedFailure());
  }
}
