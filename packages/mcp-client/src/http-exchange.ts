// A request of ours over HTTP: one POST and the stream that answers it. A stream of an older
// session that ends before the answer is taken up again where it was, if its events were numbered.

import type { IncomingHttpHeaders } from 'node:http';
import {
  type JSONRPCMessage,
  type JSONRPCNotification,
  SdkErrorCode,
  SdkHttpError,
  SUBSCRIPTION_ID_META_KEY,
} from '@modelcontextprotocol/client';
import { Backoff, type FabricError, isAway } from '@starloom/core';
import {
  Exchange,
  type ExchangeLine,
  isModern,
  isNotification,
  isQuestion,
  isResponse,
  type NumberedRequest,
} from './exchange.ts';
import { type Headers, metaOf, type SessionHeaders } from './http-headers.ts';
import type { EndingStreams, HttpStream, StreamFailure, StreamListener } from './http-stream.ts';
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
    else this.#options.ending.add(this.#stream);
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
    this.#options.ending.delete(this.#stream);
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

interface HttpSendingOptions {
  readonly endpoint: HttpEndpoint;
  readonly session: SessionHeaders;
  readonly headers: Readonly<Headers> | undefined;
  /** Closes the stream of this message. */
  readonly signal: AbortSignal | undefined;
  /** Before any message: the session the server begins with its answer, if any. */
  readonly onSession: (sessionId: string | undefined) => void;
  readonly onMessage: (message: JSONRPCMessage) => void;
}

/** A message of the SDK's client: its POST, and what comes back for it. */
export class HttpSending implements StreamListener {
  /** Resolves when a request was answered or anything else accepted. */
  readonly done: Promise<void>;

  readonly #message: JSONRPCMessage;
  readonly #options: HttpSendingOptions;
  readonly #settle = Promise.withResolvers<void>();
  readonly #stream: HttpStream;
  readonly #onAbort = () => this.abort(failure('closed'));

  constructor(message: JSONRPCMessage, options: HttpSendingOptions) {
    this.#message = message;
    this.#options = options;
    this.done = this.#settle.promise;
    this.#stream = options.endpoint.post(message, options.session, this, options.headers);
    if (options.signal?.aborted) this.#onAbort();
    else options.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  abort(reason: Error): void {
    this.#stream.abort(reason);
    this.#settle.reject(reason);
  }

  onOpen(headers: IncomingHttpHeaders): void {
    const sessionId = headers['mcp-session-id'];
    const isGiven = typeof sessionId === 'string' && sessionId !== '';
    this.#options.onSession(isGiven ? sessionId : undefined);
  }

  onMessage(message: JSONRPCMessage): void {
    this.#options.onMessage(message);
    const { id } = this.#message as { id?: unknown };
    if (isResponse(message) && message.id === id) this.#settle.resolve();
  }

  onClose(closed: StreamFailure | undefined): void {
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    const isRequest = 'method' in this.#message && 'id' in this.#message;
    if (closed) this.#settle.reject(toSdkError(closed));
    else if (isRequest) this.#settle.reject(failure('no_answer'));
    else this.#settle.resolve();
  }
}

/** The SDK reads status and body of a refused probe to find out which revisions the agent speaks. */
function toSdkError({ error, response }: StreamFailure): Error {
  if (!response) return error;
  const code = SdkErrorCode.ClientHttpNotImplemented;
  return new SdkHttpError(code, error.message, { ...response }, { cause: error });
}

const RETRY = { firstMs: 500, longestMs: 30_000 };

interface HttpListenerOptions {
  readonly open: (listener: StreamListener, lastEventId: string | undefined) => HttpStream;
  readonly onMessage: (message: JSONRPCMessage) => void;
}

/**
 * The stream on which an older server sends what belongs to no request (GET on its address). Many
 * servers offer none; one that breaks is opened again, ever more slowly, until `close`.
 */
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
    this.#stream.abort(failure('closed'));
  }
}
