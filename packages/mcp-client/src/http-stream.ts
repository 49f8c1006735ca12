// The answer to one HTTP request as JSON-RPC messages, whether it comes as JSON or as server-sent
// events. Nothing is kept beyond the limit; a redirect is a failure like any other status.

import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { connectionFailure, FabricError } from '@starloom/core';
import {
  type Excerpt,
  JsonCount,
  jsonFailure,
  SseParser,
  UPSTREAM_JSON_LIMITS,
} from '@starloom/wire';
import type { Dispatcher } from 'undici';
import type { RpcError } from './agent-transport.ts';
import { parseMessages } from './exchange.ts';
import { refusedFailure } from './failures.ts';
import { failure } from './reasons.ts';

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

interface StreamOptions {
  /** Largest message; a larger one ends the stream. */
  readonly maxMessageBytes: number;
  readonly excerpt: Excerpt;
  /** `nothing`: the body does not matter, as of a notification. */
  readonly expects: 'messages' | 'nothing';
  /** The request carries a session id, which the server may have forgotten. */
  readonly inSession: boolean;
  /** Says what to do about a refusal. */
  readonly explain?: ((failure: FabricError) => FabricError) | undefined;
}

const REFUSAL_BYTES = 65_536;

export class HttpStream implements Dispatcher.DispatchHandler {
  /** Of the last server-sent event that had one. */
  lastEventId: string | undefined;
  /** How long the server asks to wait before a reconnection. */
  retryMs: number | undefined;
  /** Has its last byte come? */
  isEnding = false;
  isOver = false;

  readonly #listener: StreamListener;
  readonly #options: StreamOptions;
  #controller: Dispatcher.DispatchController | undefined;
  #body: HttpBody = IGNORED_BODY;

  constructor(listener: StreamListener, options: StreamOptions) {
    this.#listener = listener;
    this.#options = options;
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  /** Closes the stream without another word to the listener. */
  abort(reason: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.isOver) controller.abort(new Error('aborted before the request was sent'));
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.isOver) return;
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
    this.isEnding = true;
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
    if (type === 'text/event-stream') return this.#eventsBody(limit);
    if (type === 'application/json') {
      const cut = () => this.#cut(failure('answer_too_large', { limit }));
      if (Number(headers['content-length']) > limit) cut();
      return new WholeBody(limit, (text, isCounted) => this.#deliver(text, isCounted), cut);
    }
    this.#cut(failure('not_mcp/media_type', { content_type: type }));
    return IGNORED_BODY;
  }

  #refusalBody(status: number, headers: IncomingHttpHeaders): HttpBody {
    const refuse = (text: string) => {
      const { inSession, excerpt, explain } = this.#options;
      const rpc = rpcErrorIn(text);
      const refusal = refusedFailure({ status, headers, text: excerpt(text), rpc, inSession });
      const error = explain?.(refusal) ?? refusal;
      this.#close({ error, response: { status, text } });
      return error;
    };
    return new WholeBody(REFUSAL_BYTES, refuse, (text) => this.#controller?.abort(refuse(text)));
  }

  #eventsBody(maxEventBytes: number): HttpBody {
    const parser = new SseParser({ maxEventBytes });
    const push = (chunk: Buffer) => {
      for (const { event, data, id, retry } of parser.push(chunk)) {
        this.lastEventId = id ?? this.lastEventId;
        this.retryMs = retry ?? this.retryMs;
        if (event === 'message' && data !== '') this.#deliver(data);
        if (this.isOver) return;
      }
    };
    return { push, end: () => {} };
  }

  #deliver(text: string, isCounted = false): void {
    for (const message of parseMessages(text, isCounted)) {
      if (!this.isOver) this.#listener.onMessage(message, text.length);
    }
  }

  #guard(read: () => void): void {
    if (this.isOver) return;
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
    if (this.isOver) return;
    this.isOver = true;
    this.#listener.onClose(failure);
  }
}

function mediaTypeOf(headers: IncomingHttpHeaders): string {
  if (headers['content-type'] === 'application/json') return 'application/json';
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
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

/** Takes the bytes of a response as they come. */
interface HttpBody {
  push(chunk: Buffer): void;
  /** After the last byte. */
  end(): void;
}

const IGNORED_BODY: HttpBody = { push: () => {}, end: () => {} };

/**
 * More than this is decoded, and its values are counted, as it comes: all at once, megabytes would hold up
 * the event loop.
 */
const LARGE_BYTES = 65_536;

/** The whole text at the end, with whether it was counted as JSON, or `onExceeded` with its beginning as soon as it is over the limit. */
export class WholeBody implements HttpBody {
  readonly #limit: number;
  readonly #onText: (text: string, isCounted: boolean) => void;
  readonly #onExceeded: (beginning: string) => void;
  #chunks: Buffer[] = [];
  #count: JsonCount | undefined;
  #decoder: StringDecoder | undefined;
  #decoded = '';
  #bytes = 0;

  constructor(
    limit: number,
    onText: (text: string, isCounted: boolean) => void,
    onExceeded: (beginning: string) => void,
  ) {
    this.#limit = limit;
    this.#onText = onText;
    this.#onExceeded = onExceeded;
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limit) return void this.#onExceeded(this.#text());
    this.#chunks.push(chunk);
    if (this.#bytes > LARGE_BYTES) this.#decode();
  }

  end(): void {
    this.#onText(this.#text(), this.#decoder !== undefined);
  }

  #text(): string {
    if (!this.#decoder) return Buffer.concat(this.#chunks).toString('utf8');
    return this.#decoded + this.#decoder.end();
  }

  #decode(): void {
    this.#decoder ??= new StringDecoder('utf8');
    this.#count ??= new JsonCount(UPSTREAM_JSON_LIMITS);
    for (const chunk of this.#chunks) {
      const part = this.#decoder.write(chunk);
      this.#decoded += part;
      const excess = this.#count.add(part);
      if (excess) throw jsonFailure(excess);
    }
    this.#chunks = [];
  }
}
