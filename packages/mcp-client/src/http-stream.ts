// The answer to one HTTP request as JSON-RPC messages, whether it comes as JSON or as server-sent
// events. Nothing is kept beyond the limit; a redirect is a failure like any other status.

import type { IncomingHttpHeaders } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { connectionFailure, FabricError } from '@starloom/core';
import type { Excerpt, SseEvent } from '@starloom/wire';
import type { Dispatcher } from 'undici';
import { EventsBody, type HttpBody, IGNORED_BODY, WholeBody } from './http-body.ts';
import { answerFailure, refusedFailure } from './http-failure.ts';
import { parseMessages, type RpcError } from './json-rpc.ts';

export interface StreamListener {
  /** The status is good, the body follows. */
  onOpen?(headers: IncomingHttpHeaders): void;
  onMessage(message: JSONRPCMessage, bytes: number): void;
  /** The last call, unless the stream was aborted by us. */
  onClose(failure: StreamFailure | undefined): void;
}

export interface StreamFailure {
  readonly error: FabricError;
  /** What was answered, when it was the status that is wrong. */
  readonly response?: { readonly status: number; readonly text: string };
}

export interface StreamOptions {
  /** Largest message; a larger one ends the stream. */
  readonly maxMessageBytes: number;
  readonly excerpt: Excerpt;
  /** `nothing`: the body does not matter, as of a notification. */
  readonly expects: 'messages' | 'nothing';
  /** The request carries a session id, which the server may have forgotten. */
  readonly inSession: boolean;
  /** What a refusal means here. */
  readonly refused?: ((failure: FabricError) => FabricError) | undefined;
}

const REFUSAL_BYTES = 65_536;

export class HttpStream implements Dispatcher.DispatchHandler {
  /** Of the last server-sent event that had one. */
  lastEventId: string | undefined;
  /** How long the server asks to wait before a reconnection. */
  retryMs: number | undefined;

  readonly #listener: StreamListener;
  readonly #options: StreamOptions;
  #controller: Dispatcher.DispatchController | undefined;
  #body: HttpBody = IGNORED_BODY;
  #isEnding = false;
  #isOver = false;

  constructor(listener: StreamListener, options: StreamOptions) {
    this.#listener = listener;
    this.#options = options;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Has its last byte come? */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  /** Closes the stream without another word to the listener. */
  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('aborted before the request was sent'));
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#isOver) return;
    if (status >= 300) {
      this.#body = this.#refusalBody(status, headers);
      return;
    }
    this.#listener.onOpen?.(headers);
    const expectsNothing = this.#options.expects === 'nothing' || status === 202 || status === 204;
    if (!expectsNothing) this.#body = this.#messagesBody(headers);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#guard(() => this.#body.push(chunk));
  }

  onResponseEnd(): void {
    this.#isEnding = true;
    this.#guard(() => this.#body.end());
    this.#close(undefined);
  }

  /** Deferred, since undici may fail before `dispatch` has returned to its caller. */
  onResponseError(_: unknown, cause: Error): void {
    const error = connectionFailure(cause, {
      sent: this.#controller !== undefined,
      answered: false,
    });
    queueMicrotask(() => this.#close({ error }));
  }

  #messagesBody(headers: IncomingHttpHeaders): HttpBody {
    const limit = this.#options.maxMessageBytes;
    const type = mediaTypeOf(headers);
    if (type === 'text/event-stream') return new EventsBody(limit, this.#onEvent);
    if (type === 'application/json') {
      const cut = () => this.#cut(tooLarge(limit));
      if (Number(headers['content-length']) > limit) cut();
      return new WholeBody(limit, (text, isCounted) => this.#deliver(text, isCounted), cut);
    }
    const details = { content_type: type, fix: 'check endpoint.uri of the agent' };
    this.#cut(answerFailure('not_mcp', 'The agent answered with another media type', details));
    return IGNORED_BODY;
  }

  #refusalBody(status: number, headers: IncomingHttpHeaders): HttpBody {
    const refuse = (text: string) => {
      const { inSession, excerpt, refused } = this.#options;
      const rpc = rpcErrorIn(text);
      const failure = refusedFailure({ status, headers, text: excerpt(text), rpc, inSession });
      const error = refused?.(failure) ?? failure;
      this.#close({ error, response: { status, text } });
      return error;
    };
    return new WholeBody(REFUSAL_BYTES, refuse, (text) => this.#controller?.abort(refuse(text)));
  }

  readonly #onEvent = ({ event, data, id, retry }: SseEvent): boolean => {
    this.lastEventId = id ?? this.lastEventId;
    this.retryMs = retry ?? this.retryMs;
    if (event === 'message' && data !== '') this.#deliver(data);
    return !this.#isOver;
  };

  #deliver(text: string, isCounted = false): void {
    for (const message of parseMessages(text, isCounted)) {
      if (!this.#isOver) this.#listener.onMessage(message, text.length);
    }
  }

  #guard(read: () => void): void {
    if (this.#isOver) return;
    try {
      read();
    } catch (error) {
      this.#cut(FabricError.from(error));
    }
  }

  /** Ends a stream that is not worth reading on. */
  #cut(error: FabricError): void {
    this.#close({ error });
    this.#controller?.abort(error);
  }

  #close(failure: StreamFailure | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.onClose(failure);
  }
}

function mediaTypeOf(headers: IncomingHttpHeaders): string {
  if (headers['content-type'] === 'application/json') return 'application/json';
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function tooLarge(limit: number): FabricError {
  return answerFailure('answer_too_large', 'The agent sent an answer over the size limit', {
    limit,
    fix: 'ask for less, or raise options.result_bytes of the endpoint',
  });
}

function rpcErrorIn(text: string): RpcError | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const [message] = parseMessages(text);
    return message && 'error' in message ? message.error : undefined;
  } catch {
    return undefined;
  }
}
