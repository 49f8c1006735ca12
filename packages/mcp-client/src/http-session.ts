// The messages of the SDK's client over HTTP, and what an older server keeps of them as a session: its id, the
// agreed version, the GET stream, DELETE at the end.

import type { IncomingHttpHeaders } from 'node:http';
import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  SdkErrorCode,
  SdkHttpError,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { Backoff, type Log } from '@starloom/core';
import { cancellationOf } from './agent-transport.ts';
import { isResponse } from './exchange.ts';
import type { Headers, SessionHeaders } from './http-headers.ts';
import type { HttpStream, StreamFailure, StreamListener } from './http-stream.ts';
import type { HttpEndpoint } from './http-transport.ts';
import { failure } from './reasons.ts';

const CANCEL_TIMEOUT_MS = 5_000;
const DELETE_TIMEOUT_MS = 1_000;

export class HttpSession {
  /** Of all requests from now on. */
  headers: SessionHeaders = { sessionId: undefined, protocolVersion: undefined };
  readonly #endpoint: HttpEndpoint;
  readonly #log: Log;
  readonly #onMessage: (message: JSONRPCMessage) => void;
  readonly #sendings = new Set<HttpSending>();
  #listener: HttpListener | undefined;

  /** `onMessage`: what belongs to no exchange. */
  constructor(endpoint: HttpEndpoint, log: Log, onMessage: (message: JSONRPCMessage) => void) {
    this.#endpoint = endpoint;
    this.#log = log;
    this.#onMessage = onMessage;
  }

  get hasPush(): boolean {
    return this.#listener?.isOpen ?? false;
  }

  note(agreed: Partial<SessionHeaders>): void {
    this.headers = { ...this.headers, ...agreed };
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions): Promise<void> {
    const isHandshake = 'method' in message && message.method === 'initialize';
    const sending = new HttpSending(message, {
      endpoint: this.#endpoint,
      session: isHandshake ? { ...this.headers, sessionId: undefined } : this.headers,
      headers: options.headers,
      signal: options.requestSignal,
      onSession: (sessionId) => {
        if (isHandshake) this.note({ sessionId });
      },
      onMessage: this.#onMessage,
    });
    this.#sendings.add(sending);
    try {
      await sending.done;
    } finally {
      this.#sendings.delete(sending);
    }
  }

  /** Notifies the server that no caller waits for the answer to a request. */
  cancel(request: JSONRPCRequest): void {
    const requestSignal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    const cancellation = cancellationOf(request, 'the caller left');
    this.send(cancellation, { requestSignal }).catch((cause: unknown) => {
      this.#log.debug({ cause: String(cause) }, 'could not notify the agent of a cancellation');
    });
  }

  /** Opens the stream on which an older server sends what belongs to no request. */
  listen(): void {
    const { headers } = this;
    this.#listener = new HttpListener({
      open: (listener, lastEventId) => this.#endpoint.get(headers, listener, lastEventId),
      onMessage: this.#onMessage,
    });
  }

  abort(reason: Error): void {
    this.#listener?.close();
    for (const sending of [...this.#sendings]) sending.abort(reason);
  }

  /** Ends it at the server, if there is one and the server answers soon. */
  async end(): Promise<void> {
    if (this.headers.sessionId === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const onClose = () => resolve();
    const stream = this.#endpoint.delete(this.headers, { onMessage: () => {}, onClose });
    const timer = setTimeout(resolve, DELETE_TIMEOUT_MS);
    await promise;
    clearTimeout(timer);
    stream.abort(failure('closed'));
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
class HttpSending implements StreamListener {
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
class HttpListener implements StreamListener {
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
