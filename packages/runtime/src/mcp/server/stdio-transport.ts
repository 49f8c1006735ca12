// A pair of streams as the SDK wants a connection, with one promise more than its own transport gives:
// when the input ends, what was asked before is still answered, within a bound, before it closes.

import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  ReadBuffer,
  type RequestId,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { FabricError } from '@starloom/core';
import { settlesWithin } from '@starloom/wire';

const MAX_MESSAGE_BYTES = 4_194_304;
/** Stays open until it is cancelled: no client waits for its answer. */
const SUBSCRIBE = 'subscriptions/listen';

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when it is closed, by either side. */
  readonly closed: Promise<void>;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #drainMs: number;
  readonly #buffer = new ReadBuffer({ maxBufferSize: MAX_MESSAGE_BYTES });
  readonly #unanswered = new Set<RequestId>();
  readonly #gone = Promise.withResolvers<void>();
  #answered: PromiseWithResolvers<void> | undefined;
  #isEnded = false;
  #isClosed = false;

  constructor(input: Readable, output: Writable, drainMs: number) {
    this.#input = input;
    this.#output = output;
    this.#drainMs = drainMs;
    this.closed = this.#gone.promise;
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#receive);
    this.#input.once('end', this.#end);
    this.#input.once('close', this.#end);
    this.#input.on('error', this.#fail);
    this.#output.on('error', this.#fail);
    if (this.#input.readableEnded || this.#input.destroyed) this.#end();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new FabricError('CANCELLED', 'The client is gone');
    const hasRoom = this.#output.write(serializeMessage(message));
    if (!('method' in message) && message.id !== undefined) this.#settle(message.id);
    if (!hasRoom) await Promise.race([once(this.#output, 'drain'), this.closed]);
  }

  /** Takes nothing new, and gives what was asked up to `ms`; at the input's end it has had its time. */
  async finish(ms: number): Promise<void> {
    this.#input.off('data', this.#receive);
    if (!this.#isEnded) await this.#untilAnswered(ms);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off('data', this.#receive);
    this.#input.pause();
    this.#answered?.resolve();
    this.onclose?.();
    this.#gone.resolve();
  }

  readonly #receive = (chunk: Buffer): void => {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.#fail(FabricError.from(error));
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.#note(message);
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(FabricError.from(error));
      }
    }
  };

  readonly #end = (): void => {
    if (this.#isEnded) return;
    this.#isEnded = true;
    void this.#untilAnswered(this.#drainMs).then(() => this.close());
  };

  readonly #fail = (error: Error): void => {
    this.onerror?.(error);
    void this.close();
  };

  #note(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message) && message.method !== SUBSCRIBE) this.#unanswered.add(message.id);
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      this.#settle(message.params?.requestId as RequestId);
    }
  }

  #settle(id: RequestId): void {
    this.#unanswered.delete(id);
    if (this.#unanswered.size === 0) this.#answered?.resolve();
  }

  async #untilAnswered(ms: number): Promise<void> {
    if (this.#unanswered.size === 0) return;
    this.#answered ??= Promise.withResolvers();
    await settlesWithin(this.#answered.promise, ms);
  }
}
