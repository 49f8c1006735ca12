// What a request over HTTP is answered with: one JSON object, or a stream of events as soon as
// something is said before the result. In a session events have ids and are kept for a while, so a
// client whose connection broke can resume the stream on another one.

import { ServerResponse } from 'node:http';
import { FabricError } from '@starloom/core';
import { atTurnEnd, createSseWriter, SSE_HEADERS, type SseWriter } from '@starloom/wire';
import { failure } from '../reasons.ts';
import type { KeptEvent, KeptStream, Resumable, SentEvents } from './event-log.ts';
import { room } from './http-bridge.ts';

export interface AnswerOptions {
  /** Of every response, beside the content type. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Keeps events for clients that resume; none without a session. */
  readonly log?: SentEvents;
  /** Begin a stream with an empty event, so that a client can resume before the first one. */
  readonly primes?: boolean;
  /** The client listens on it; it is no answer to a request. */
  readonly isListener?: boolean;
  /** How long the reader may take nothing before it is cut off. */
  readonly stallMs?: number;
  /** The client left and cannot get the answer any more. */
  readonly onGone: () => void;
}

const KEEP_ALIVE_MS = 15_000;
/** Slow readers of a call are cut off by the call itself, sooner than this. */
const STALL_MS = 600_000;
/** How soon a client is asked to resume, and how long it may take. */
const RETRY_MS = 1_000;
const RESUME_MS = 30_000;

export class HttpReply implements Resumable {
  readonly #options: AnswerOptions;
  #response: ServerResponse;
  #writer: SseWriter | undefined;
  #kept: KeptStream | undefined;
  #isFinished = false;
  #patience: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse, options: AnswerOptions) {
    this.#response = response;
    this.#options = options;
    this.#watch(response);
  }

  /** Begins a stream of events, and shows the client that it has begun. */
  open(): void {
    if (this.#writer) return;
    this.#open();
    this.#response.flushHeaders();
  }

  #open(): void {
    const { log, primes, isListener } = this.#options;
    this.#kept = log?.open(this, isListener);
    this.#begin();
    if (this.#kept && primes) {
      this.#response.write(`id: ${this.#kept.name}-0\nretry: ${RETRY_MS}\ndata: \n\n`);
    }
  }

  /** Says something before the result; resolves when there is room for the next. */
  async send(text: string): Promise<void> {
    if (this.#isFinished) throw failure('client_gone');
    // The head leaves with the event.
    if (!this.#writer) this.#open();
    const id = this.#keep(text);
    const message = { event: 'message', data: text };
    if (id === undefined) return await this.#writer?.send(message);
    try {
      await this.#writer?.send({ ...message, id });
    } catch (error) {
      if (FabricError.from(error).code === 'CANCELLED') return;
      this.cut();
      throw error;
    }
  }

  /** The result. */
  finish(text: string, status = 200): void {
    if (!this.#close()) return;
    if (this.#writer) this.#endStream([text]);
    else this.#respond(text, status);
  }

  /** The results of a batch; none when nothing of it is to be answered. */
  finishAll(texts: readonly string[]): void {
    if (!this.#close()) return;
    if (this.#writer || texts.length === 0) this.#endStream(texts);
    else this.#respond(`[${texts.join(',')}]`, 200);
  }

  resume(response: ServerResponse, after: number): void {
    clearTimeout(this.#patience);
    const before = this.#response;
    this.#response = response;
    before.destroy();
    this.#begin();
    response.flushHeaders();
    const missed = this.#kept?.after(after) ?? [];
    response.write(missed.map(toText).join(''));
    if (this.#isFinished) response.end();
    else this.#watch(response);
  }

  /** Resolves when the reader has room again; `undefined` when it has room now. */
  room(): Promise<void> | undefined {
    return room(this.#response);
  }

  /** Ends the connection to a reader that was given up. */
  cut(): void {
    this.#response.destroy();
  }

  #begin(): void {
    const { headers, stallMs = STALL_MS } = this.#options;
    this.#response.writeHead(200, { ...SSE_HEADERS, ...headers });
    this.#writer = createSseWriter(this.#response, { keepAliveMs: KEEP_ALIVE_MS, stallMs });
  }

  #keep(text: string): string | undefined {
    return this.#kept && this.#options.log?.keep(this.#kept, text);
  }

  /** False when that was done before. */
  #close(): boolean {
    if (this.#isFinished) return false;
    this.#isFinished = true;
    clearTimeout(this.#patience);
    return true;
  }

  #endStream(texts: readonly string[]): void {
    const events = texts.map((text) => toText({ id: this.#keep(text), text })).join('');
    if (this.#kept) this.#options.log?.end(this.#kept);
    if (!this.#response.writable) return;
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, { ...SSE_HEADERS, ...this.#options.headers });
    }
    this.#response.end(events);
  }

  #respond(text: string, status: number): void {
    const { headers } = this.#options;
    atTurnEnd(() => {
      this.#response
        .writeHead(status, {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
        })
        .end(text);
    });
  }

  #watch(response: ServerResponse): void {
    response.on('close', () => {
      if (this.#isFinished || response !== this.#response) return;
      if (!this.#kept) this.#options.onGone();
      else this.#patience = setTimeout(this.#options.onGone, RESUME_MS).unref();
    });
  }
}

function toText({ id, text }: Omit<KeptEvent, 'id'> & { id?: string | undefined }): string {
  return id === undefined
    ? `event: message\ndata: ${text}\n\n`
    : `event: message\nid: ${id}\ndata: ${text}\n\n`;
}

// What this process holds in memory for each principal, over all of its connections: requests that are
// not answered, and answers that it does not read. A principal with too much of it gets no more: its
// next request is refused, and a connection whose answers it does not read is cut.

interface HeldBytesOptions {
  readonly perPrincipal: number;
  readonly onCut: () => void;
}

/** A socket, or a response. */
interface Outgoing {
  readonly writableLength: number;
  destroy(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
}

/** Less than this is not worth counting: the number of calls and sockets is bounded too. */
export const SMALL_BYTES = 16 * 1024;

export class HeldBytes {
  readonly #options: HeldBytesOptions;
  readonly #held = new Map<string, number>();
  readonly #unread = new Map<Outgoing, number>();

  constructor(options: HeldBytesOptions) {
    this.#options = options;
  }

  /** OVERLOADED when the principal has too much already. */
  take(principalId: string, bytes: number): void {
    const { perPrincipal } = this.#options;
    if (this.of(principalId) + bytes > perPrincipal) {
      throw failure('bytes_per_principal', { limit: perPrincipal });
    }
    this.#add(principalId, bytes);
  }

  give(principalId: string, bytes: number): void {
    this.#add(principalId, -bytes);
  }

  of(principalId: string): number {
    return this.#held.get(principalId) ?? 0;
  }

  /** Something was written: what is still here of it counts until the client has taken it. */
  written(principalId: string, connection: Outgoing): void {
    const isKnown = this.#unread.has(connection);
    if (!isKnown && connection.writableLength <= SMALL_BYTES) return;
    if (!isKnown) {
      this.#unread.set(connection, 0);
      connection.on('drain', () => this.#recount(principalId, connection));
      connection.on('close', () => this.#forget(principalId, connection));
    }
    this.#recount(principalId, connection);
    if (this.of(principalId) <= this.#options.perPrincipal) return;
    this.#options.onCut();
    this.#forget(principalId, connection);
    connection.destroy();
  }

  #recount(principalId: string, connection: Outgoing): void {
    const before = this.#unread.get(connection);
    if (before === undefined) return;
    const { writableLength } = connection;
    this.#unread.set(connection, writableLength);
    this.#add(principalId, writableLength - before);
  }

  #forget(principalId: string, connection: Outgoing): void {
    this.#add(principalId, -(this.#unread.get(connection) ?? 0));
    this.#unread.delete(connection);
  }

  #add(principalId: string, bytes: number): void {
    const held = this.of(principalId) + bytes;
    if (held > 0) this.#held.set(principalId, held);
    else this.#held.delete(principalId);
  }
}

/** A response that is counted from the moment that its caller is known. */
export class CountedResponse extends ServerResponse {
  #held: HeldBytes | undefined;
  #principalId = '';

  countFor(principalId: string, held: HeldBytes): void {
    this.#held = held;
    this.#principalId = principalId;
  }

  override write(chunk: unknown, encoding?: unknown, done?: unknown): boolean {
    const hasRoom = super.write(chunk, encoding as BufferEncoding, done as () => void);
    this.#held?.written(this.#principalId, this);
    return hasRoom;
  }

  override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
    super.end(chunk, encoding as BufferEncoding, done as () => void);
    this.#held?.written(this.#principalId, this);
    return this;
  }
}
