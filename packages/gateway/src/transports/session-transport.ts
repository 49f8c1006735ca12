// One session of an older client over HTTP, as the SDK wants a connection: what comes by POST goes
// in, and each message out goes to the answer of the request it belongs to, or to the stream that the
// client listens on by GET.

import type { ServerResponse } from 'node:http';
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server';
import { failure } from '../reasons.ts';
import type { SentEvents } from './event-log.ts';
import { type AnswerOptions, HttpReply } from './reply.ts';

/** The requests of one POST, which are answered together. */
interface Post {
  readonly answer: HttpReply;
  readonly isBatch: boolean;
  readonly open: Set<RequestId>;
  readonly texts: string[];
  readonly done: PromiseWithResolvers<void>;
}

const CANCEL = 'notifications/cancelled';
/** How long a client may take nothing of the stream it listens on. */
const LISTENER_STALL_MS = 30_000;

export class SessionTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly sessionId: string;
  /** In the ids of questions, so that other gateways know whose they are. */
  readonly #tag: string | undefined;
  /** Requests of earlier gateways that are repeated here. */
  readonly #replayed = new Map<RequestId, () => void>();
  readonly #log: SentEvents;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #posts = new Map<RequestId, Post>();
  /** Requests that are served past the SDK. */
  readonly #direct = new Map<
    RequestId,
    { readonly answer: HttpReply; readonly cancel: () => void }
  >();
  #replays = 0;
  #listening: HttpReply | undefined;
  #isListening = false;
  #isClosed = false;

  constructor(sessionId: string, log: SentEvents, tag?: string) {
    this.sessionId = sessionId;
    this.#tag = tag;
    this.#headers = { 'mcp-session-id': sessionId };
    this.#log = log;
  }

  /** Whether the client listens, or did so a moment ago. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /** Whether there is a stream that the client listens on, or can resume. */
  get hasListener(): boolean {
    return this.#listening !== undefined;
  }

  async start(): Promise<void> {}

  /** An answer whose events the client can resume. */
  createAnswer(
    response: ServerResponse,
    options: Pick<AnswerOptions, 'primes' | 'stallMs' | 'isListener' | 'onGone'>,
  ): HttpReply {
    return new HttpReply(response, { ...options, headers: this.#headers, log: this.#log });
  }

  /** Takes a POST with at least one request; resolves when all of them are answered. */
  async post(
    frame: JSONRPCMessage | readonly JSONRPCMessage[],
    response: ServerResponse,
    primes: boolean,
    extraOf: (answer: HttpReply) => MessageExtraInfo,
  ): Promise<void> {
    const messages: readonly JSONRPCMessage[] = [frame].flat();
    const ids = messages.filter(isRequest).map(({ id }) => id);
    for (const id of ids) this.assertFree(id);
    if (new Set(ids).size < ids.length) throw failure('duplicate_id');
    const onGone = () => this.#abandon(post);
    const post: Post = {
      answer: this.createAnswer(response, { primes, onGone }),
      isBatch: Array.isArray(frame),
      open: new Set(ids),
      texts: [],
      done: Promise.withResolvers(),
    };
    for (const id of ids) this.#posts.set(id, post);
    for (const message of messages) this.receive(message, extraOf(post.answer));
    await post.done.promise;
  }

  /** Takes one message. */
  receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) this.#cancel(cancelled);
    this.onmessage?.(this.#withoutTag(message), extra);
  }

  /** Repeats what the client asked another gateway; its answer goes nowhere. */
  async replay(method: string, params: Record<string, unknown>): Promise<void> {
    const answered = Promise.withResolvers<void>();
    this.#replays += 1;
    const id = `replay-${this.#replays}`;
    this.#replayed.set(id, answered.resolve);
    this.receive({ jsonrpc: '2.0', id, method, params });
    await answered.promise;
  }

  /**
   * Who a message without a request is for: `here`, the tag of the gateway that asked, or any gateway that
   * has the request which it cancels.
   */
  holderOf(message: JSONRPCMessage): string {
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) return this.#answerOf(cancelled) ? 'here' : 'any';
    const id = 'method' in message ? undefined : message.id;
    const [, tag] = (typeof id === 'string' && /^([0-9a-f]{8}):\d+$/.exec(id)) || [];
    return tag === undefined || this.#tag === undefined || tag === this.#tag ? 'here' : tag;
  }

  /** The client listens here from now on, and no longer where it did before. */
  listen(response: ServerResponse, primes: boolean, onGone: () => void): void {
    this.#listening?.finishAll([]);
    const answer = this.createAnswer(response, {
      primes,
      stallMs: LISTENER_STALL_MS,
      isListener: true,
      onGone: () => {
        if (this.#listening === answer) this.#isListening = false;
        onGone();
      },
    });
    this.#listening = answer;
    this.#isListening = true;
    answer.open();
  }

  /** Continues a stream that broke: the one that the client listens on, or the answer of a call. */
  resume(eventId: string, response: ServerResponse): 'listening' | 'call' {
    const resumed = this.#log.resume(eventId, response);
    if (resumed !== this.#listening) return 'call';
    this.#isListening = true;
    return 'listening';
  }

  /** Throws while a request with this id is open. */
  assertFree(id: RequestId): void {
    if (this.#posts.has(id) || this.#direct.has(id)) throw failure('duplicate_id');
  }

  /** A request that is served past the SDK, but can be cancelled, and its client asked. */
  begin(id: RequestId, answer: HttpReply, cancel: () => void): void {
    this.#direct.set(id, { answer, cancel });
  }

  end(id: RequestId): void {
    this.#direct.delete(id);
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (!('method' in message)) {
      if (message.id !== undefined) this.#answer(message.id, JSON.stringify(message));
      return;
    }
    const { relatedRequestId: id } = options;
    const answer = id === undefined ? this.#listening : this.#answerOf(id);
    if (answer) return await answer.send(JSON.stringify(this.#withTag(message)));
    if (id !== undefined || 'id' in message) throw failure('client_gone');
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listening?.finishAll([]);
    this.#listening = undefined;
    this.#isListening = false;
    for (const { cancel } of this.#direct.values()) cancel();
    for (const post of new Set(this.#posts.values())) this.#abandon(post);
    this.#log.close();
    this.onclose?.();
  }

  #answerOf(id: RequestId): HttpReply | undefined {
    return this.#posts.get(id)?.answer ?? this.#direct.get(id)?.answer;
  }

  /** The SDK counts its questions from 0 at each gateway. */
  #withTag(message: JSONRPCMessage): JSONRPCMessage {
    if (this.#tag === undefined || !('method' in message)) return message;
    if ('id' in message) return { ...message, id: `${this.#tag}:${message.id}` };
    const asked = cancelledBy(message);
    if (asked === undefined) return message;
    return { ...message, params: { ...message.params, requestId: `${this.#tag}:${asked}` } };
  }

  #withoutTag(message: JSONRPCMessage): JSONRPCMessage {
    if (this.#tag === undefined || 'method' in message) return message;
    const prefix = `${this.#tag}:`;
    const isOwn = typeof message.id === 'string' && message.id.startsWith(prefix);
    return isOwn ? { ...message, id: Number(String(message.id).slice(prefix.length)) } : message;
  }

  #answer(id: RequestId, text: string): void {
    this.#replayed.get(id)?.();
    this.#replayed.delete(id);
    const post = this.#posts.get(id);
    if (!post) return;
    post.texts.push(text);
    this.#settle(id, post);
  }

  /** A cancelled request is not answered. */
  #cancel(id: RequestId): void {
    this.#direct.get(id)?.cancel();
    const post = this.#posts.get(id);
    if (post) this.#settle(id, post);
  }

  #settle(id: RequestId, post: Post): void {
    this.#posts.delete(id);
    post.open.delete(id);
    if (post.open.size > 0) return;
    const { answer, texts, isBatch } = post;
    const [only] = texts;
    if (isBatch || only === undefined) answer.finishAll(texts);
    else answer.finish(only);
    post.done.resolve();
  }

  /** The client cannot get the answer any more: the work is stopped. */
  #abandon(post: Post): void {
    for (const id of [...post.open]) {
      this.receive({ jsonrpc: '2.0', method: CANCEL, params: { requestId: id } });
    }
  }
}

function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message;
}

function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== CANCEL) return undefined;
  const id = message.params?.requestId;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
