// A request of ours over HTTP: one POST and the stream that answers it. A stream of an older
// session that ends before the answer is taken up again where it was, if its events were numbered.

import {
  type JSONRPCMessage,
  type JSONRPCNotification,
  SUBSCRIPTION_ID_META_KEY,
} from '@modelcontextprotocol/client';
import { type FabricError, isAway } from '@starloom/core';
import { isModern, isNotification, isQuestion, type NumberedRequest } from './agent-transport.ts';
import type { EndingStreams } from './ending-streams.ts';
import { Exchange, type ExchangeLine, isResponse } from './exchange.ts';
import { type Headers, metaOf, type SessionHeaders } from './http-headers.ts';
import type { HttpStream, StreamFailure, StreamListener } from './http-stream.ts';
import type { HttpEndpoint } from './http-transport.ts';
import { failure } from './reasons.ts';

const MAX_FRUITLESS = 8;
const DEFAULT_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;

interface HttpExchangeOptions {
  readonly endpoint: HttpEndpoint;
  readonly session: SessionHeaders;
  readonly ending: EndingStreams;
  readonly headers?: Readonly<Headers> | undefined;
  /** A message that is not part of the exchange. */
  readonly onOther: (message: JSONRPCMessage) => void;
  /** After the outcome; `cancelled` when the stream was closed to stop the agent. */
  readonly onRelease: (cancelled: FabricError | undefined) => void;
}

export class HttpExchange implements StreamListener, ExchangeLine {
  readonly exchange: Exchange;
  readonly #request: NumberedRequest;
  readonly #options: HttpExchangeOptions;
  #stream: HttpStream;
  /** Whether the answer has come before the end of the stream. */
  #lingers = false;
  /** Where the stream was taken up last. */
  #resumedFrom: string | undefined;
  /** Resumptions in a row that brought no new event. */
  #fruitless = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(request: NumberedRequest, options: HttpExchangeOptions) {
    this.#request = request;
    this.#options = options;
    this.exchange = new Exchange(request.id, this);
    const { endpoint, session, headers } = options;
    this.#stream = endpoint.post(request, session, this, headers);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  release(cancelled: FabricError | undefined): void {
    clearTimeout(this.#timer);
    if (cancelled) this.#stream.abort(cancelled);
    else if (!this.#stream.isEnding) {
      this.#lingers = true;
      this.#options.ending.add(this.#stream);
    }
    this.#options.onRelease(cancelled);
  }

  onMessage(message: JSONRPCMessage, bytes: number): void {
    if (isResponse(message)) {
      if ((message.id ?? this.#request.id) === this.#request.id) this.exchange.settle(message);
      return;
    }
    if (isQuestion(message)) this.exchange.push(message, bytes);
    else if (isNotification(message) && this.#isOurs(message)) this.exchange.push(message, bytes);
    else this.#options.onOther(message);
  }

  onClose(failure: StreamFailure | undefined): void {
    if (this.#lingers) this.#options.ending.delete(this.#stream);
    if (this.exchange.isOver) return;
    if ((!failure || this.#isBroken(failure.error)) && this.#resume()) return;
    this.exchange.fail(this.#outcomeOf(failure));
  }

  /** Whatever became of a resumption, the request itself had been sent before. */
  #outcomeOf(closed: StreamFailure | undefined): FabricError {
    if (closed && this.#resumedFrom === undefined) return closed.error;
    return closed ? failure('connection_lost', {}, { cause: closed.error }) : failure('no_answer');
  }

  #isBroken(error: FabricError): boolean {
    return error.details.reason === 'connection_lost' || (!!this.#resumedFrom && isAway(error));
  }

  #isOurs(message: JSONRPCNotification): boolean {
    const { method, params } = message;
    if (method === 'notifications/message') return true;
    if (metaOf(message)[SUBSCRIPTION_ID_META_KEY] === this.#request.id) return true;
    return (
      method === 'notifications/progress' &&
      (params as { progressToken?: unknown } | undefined)?.progressToken === this.#request.id
    );
  }

  #resume(): boolean {
    const { lastEventId, retryMs = DEFAULT_RETRY_MS } = this.#stream;
    if (lastEventId === undefined || isModern(this.#request)) return false;
    this.#fruitless = lastEventId === this.#resumedFrom ? this.#fruitless + 1 : 0;
    if (this.#fruitless >= MAX_FRUITLESS) return false;
    this.#resumedFrom = lastEventId;
    this.#timer = setTimeout(
      () => {
        const { endpoint, session } = this.#options;
        this.#stream = endpoint.get(session, this, lastEventId);
        this.#stream.lastEventId = lastEventId;
      },
      Math.min(retryMs, MAX_RETRY_MS),
    );
    return true;
  }
}
