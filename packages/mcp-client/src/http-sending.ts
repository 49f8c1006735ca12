// A message the SDK's client sends: its POST, and what comes back for it.

import type { IncomingHttpHeaders } from 'node:http';
import { type JSONRPCMessage, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { closedFailure } from './closed-failure.ts';
import type { HttpEndpoint } from './http-endpoint.ts';
import { answerFailure } from './http-failure.ts';
import type { Headers, SessionHeaders } from './http-headers.ts';
import type { HttpStream, StreamFailure, StreamListener } from './http-stream.ts';
import { isResponse } from './json-rpc.ts';

export interface HttpSendingOptions {
  readonly endpoint: HttpEndpoint;
  readonly session: SessionHeaders;
  readonly headers: Readonly<Headers> | undefined;
  /** Closes the stream of this message. */
  readonly signal: AbortSignal | undefined;
  /** Before any message: the session the server begins with its answer, if any. */
  readonly onSession: (sessionId: string | undefined) => void;
  readonly onMessage: (message: JSONRPCMessage) => void;
}

export class HttpSending implements StreamListener {
  /** Resolves when a request was answered or anything else accepted. */
  readonly done: Promise<void>;

  readonly #message: JSONRPCMessage;
  readonly #options: HttpSendingOptions;
  readonly #settle = Promise.withResolvers<void>();
  readonly #stream: HttpStream;
  readonly #onAbort = () => this.abort(closedFailure());

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

  onClose(failure: StreamFailure | undefined): void {
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    if (failure) this.#settle.reject(toSdkError(failure));
    else if ('method' in this.#message && 'id' in this.#message) this.#settle.reject(noAnswer());
    else this.#settle.resolve();
  }
}

/** The SDK reads status and body of a refused probe to find out which revisions the agent speaks. */
function toSdkError({ error, response }: StreamFailure): Error {
  if (!response) return error;
  const code = SdkErrorCode.ClientHttpNotImplemented;
  return new SdkHttpError(code, error.message, { ...response }, { cause: error });
}

function noAnswer(): Error {
  return answerFailure('no_answer', 'The agent ended the stream without an answer');
}
