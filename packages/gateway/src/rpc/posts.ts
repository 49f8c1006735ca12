// Messages of the coordination plane by POST. A client that leaves gives up what it waits for, as
// one on a connection does. At a shutdown every client gets an answer, also one that waits, and one
// whose request is not done in time.

import type { ServerResponse } from 'node:http';
import type {
  Coordination,
  RpcAnswer,
  RpcConnection,
  RpcPeer,
  RpcReply,
} from '@starloom/coordination';
import { isObject } from '@starloom/core';
import { createSseWriter, SSE_HEADERS, type SseWriter, streamTurns } from '@starloom/wire';
import { z } from 'zod';
import { InFlight } from '../in-flight.ts';
import type { ActiveRequest } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import type { Load } from '../transports/message-channel.ts';
import type { HttpRequest } from '../transports/routes.ts';

/** Bytes of a request that is one by one with the other large ones of its caller. */
const LARGE_BYTES = 256 * 1024;
const SUBSCRIBE = 'context_coordinator.subscribe';
const KEEP_ALIVE_MS = 15_000;
/** How long what is under way may take at a shutdown. */
const LAST_WORK_MS = 1_000;
/** How long the last answers may take; to a client that does not read it is for ever. */
const FAREWELL_MS = 1_000;

/** The directory of the gateway, as the client of a request may see and change it. */
type DirectoryFor = (principal: HttpRequest['principal']) => RpcConnection['gateway'];

/** The client of a POST, and what ends the waiting for its answer. */
interface Asking {
  readonly peer: RpcPeer;
  readonly cut: AbortController;
}

export class RpcPosts {
  readonly #coordination: Coordination;
  readonly #directoryFor: DirectoryFor | undefined;
  readonly #asking = new Set<Asking>();
  /** Those that stay open for what is pushed. */
  readonly #streams = new Set<SseWriter>();
  readonly #inFlight = new InFlight();
  /** By caller: until its last large request is answered. */
  readonly #large = new Map<string, Promise<void>>();
  #isClosing = false;

  constructor(coordination: Coordination, directoryFor?: DirectoryFor) {
    this.#coordination = coordination;
    this.#directoryFor = directoryFor;
  }

  async serve(exchange: HttpRequest): Promise<void> {
    const isStream = accepts(exchange.request.headers.accept, 'text/event-stream');
    const leave = this.#inFlight.enter();
    const answer = () => (isStream ? this.#stream(exchange) : this.#answer(exchange));
    try {
      await (isLarge(exchange) ? this.#inTurn(exchange.principal.id, answer) : answer());
    } finally {
      leave();
    }
  }

  /**
   * Megabytes that one caller stores at once would go to the disk in one batch, and small requests of
   * others that share the batch would wait for all of it.
   */
  async #inTurn(caller: string, answer: () => Promise<void>): Promise<void> {
    const answered = (this.#large.get(caller) ?? Promise.resolve()).then(answer);
    const settled = answered.catch(() => {});
    this.#large.set(caller, settled);
    try {
      await answered;
    } finally {
      if (this.#large.get(caller) === settled) this.#large.delete(caller);
    }
  }

  /** Answers what is still waiting, and ends the streams. */
  endWaiting(): void {
    this.#isClosing = true;
    const reason = failure('shutting_down/waiting');
    for (const { peer } of this.#asking) void peer.close(reason);
    for (const stream of this.#streams) void stream.close();
    setTimeout(() => {
      for (const { cut } of this.#asking) cut.abort(reason);
    }, LAST_WORK_MS).unref();
  }

  /** Answers what is not done yet, and waits until the answers have left. */
  async close(ms: number): Promise<void> {
    for (const { cut } of this.#asking) cut.abort(failure('shutting_down/waiting'));
    await this.#inFlight.untilIdle(Math.max(ms, FAREWELL_MS));
  }

  async #answer({ response, principal, body, seen }: HttpRequest): Promise<void> {
    await this.#withPeer(response, this.#client(principal), async (asking) => {
      const reply = await ask(asking, body, seen);
      // One write to the disk may be what many requests waited for.
      await streamTurns.enter(principal.id);
      const text = reply?.toText();
      if (text === undefined) response.writeHead(204).end();
      else response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      if (this.#isClosing) await untilClosed(response);
    });
  }

  /** The answer as the first event, then what is pushed, until the client leaves or all is said. */
  async #stream({ response, principal, body, seen, detach }: HttpRequest): Promise<void> {
    response.writeHead(200, SSE_HEADERS);
    await using stream = createSseWriter(response, { keepAliveMs: KEEP_ALIVE_MS });
    const send = (data: string) => stream.send({ event: 'message', data });
    const answered = Promise.withResolvers<void>();
    let isSubscribed = false;
    using tickets = new OpenTickets(() => {
      if (!isSubscribed) void stream.close();
    });
    const push = async (notification: string) => {
      await answered.promise;
      await send(notification);
      tickets.notified(notification);
    };
    const onSubscriptionsOver = () => {
      isSubscribed = false;
      if (tickets.isEmpty) void stream.close();
    };
    const client = { ...this.#client(principal), push, onSubscriptionsOver };
    await this.#withPeer(response, client, async (asking) => {
      try {
        const reply = await ask(asking, body, seen);
        if (reply !== undefined) await send(reply.toText());
        isSubscribed = resultsOf(SUBSCRIBE, body, reply?.answer).length > 0;
        tickets.add(body, reply?.answer);
        if (this.#isClosing || (!isSubscribed && tickets.isEmpty)) return;
      } finally {
        answered.resolve();
      }
      detach();
      this.#streams.add(stream);
      await stream.closed;
      this.#streams.delete(stream);
    });
  }

  #client(principal: HttpRequest['principal']): RpcConnection {
    return { principal, gateway: this.#directoryFor?.(principal) };
  }

  /** The peer ends with the work, or before it when the client leaves. */
  async #withPeer(
    response: ServerResponse,
    connection: RpcConnection,
    work: (asking: Asking) => Promise<void>,
  ): Promise<void> {
    const peer = this.#coordination.connect(connection);
    const asking = { peer, cut: new AbortController() };
    const leave = () => void peer.close();
    response.once('close', leave);
    if (response.destroyed) leave();
    this.#asking.add(asking);
    // One that waited for its turn until now.
    if (this.#isClosing)
      setTimeout(() => asking.cut.abort(failure('shutting_down/waiting')), LAST_WORK_MS).unref();
    try {
      await work(asking);
    } finally {
      this.#asking.delete(asking);
      response.off('close', leave);
      await peer.close();
    }
  }
}

/** One that waits, or stays open as a stream, must not keep others waiting. */
function isLarge({ bytes, request, body }: HttpRequest): boolean {
  if (bytes < LARGE_BYTES || mayWait(body)) return false;
  return !accepts(request.headers.accept, 'text/event-stream');
}

/** Of a single request. */
export function errorIn(reply: RpcReply | undefined): unknown {
  return reply && 'error' in reply.answer ? reply.answer.error : undefined;
}

async function ask({ peer, cut }: Asking, message: unknown, seen: ActiveRequest) {
  const reply = await peer.reply(message, { cut: cut.signal, trace: () => seen.trace });
  seen.answeredWith(errorIn(reply));
  return reply;
}

/** Everything of it is with the system then, or the client is gone. */
async function untilClosed(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  await new Promise((resolve) => response.once('close', resolve));
}

/** Has a small answer. */
const ACQUIRE = 'memory_locker.acquire';
/** What any other may have to keep for a client that does not read, as a rule. */
const ANSWER_BYTES = 1 << 16;

/**
 * One request after the other, but one that asks to wait for its turn does not block other
 * requests; nor does a batch with such a request.
 */
export function mayWait(message: unknown): boolean {
  return Array.isArray(message) ? message.some(asksToWait) : asksToWait(message);
}

/** What it may hold while it is under way, with its answers. */
export function loadOfWait(message: unknown, bytes: number): Load {
  const requests = [message].flat();
  const large = requests.filter((request) => !isAcquire(request)).length;
  return { requests: requests.length, bytes: bytes + large * ANSWER_BYTES };
}

function isAcquire(request: unknown): boolean {
  return isObject(request) && 'method' in request && request.method === ACQUIRE;
}

function asksToWait(request: unknown): boolean {
  if (!isObject(request) || !('params' in request)) return false;
  return isObject(request.params) && 'wait_ms' in request.params;
}

/** The client receives a grant in the last moment a little later. */
const LATE_MS = 1_000;

const queuedSchema = z.object({
  params: z.looseObject({ wait_ms: z.number() }),
  result: z.looseObject({ queued: z.literal(true), ticket: z.string() }),
});
const grantSchema = z.object({
  method: z.literal('memory_locker.granted'),
  params: z.looseObject({ ticket: z.string() }),
});

/** Places in queues for locks, each until the client received its grant or its time is over. */
class OpenTickets implements Disposable {
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #onNone: () => void;

  constructor(onNone: () => void) {
    this.#onNone = onNone;
  }

  get isEmpty(): boolean {
    return this.#timers.size === 0;
  }

  /** Takes those that an answer gave. */
  add(body: unknown, answer: RpcAnswer): void {
    for (const granted of resultsOf(ACQUIRE, body, answer)) {
      const queued = queuedSchema.safeParse(granted).data;
      if (queued) this.#open(queued.result.ticket, queued.params.wait_ms);
    }
  }

  notified(notification: string): void {
    if (this.isEmpty) return;
    const grant = grantSchema.safeParse(JSON.parse(notification)).data;
    if (grant) this.#end(grant.params.ticket);
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #open(ticket: string, waitMs: number): void {
    const timer = setTimeout(() => this.#end(ticket), waitMs + LATE_MS);
    this.#timers.set(ticket, timer.unref());
  }

  #end(ticket: string): void {
    clearTimeout(this.#timers.get(ticket));
    if (this.#timers.delete(ticket) && this.isEmpty) this.#onNone();
  }
}

/** A request that was granted, and what it came to. */
interface Granted {
  readonly params: object;
  readonly result: object;
}

/** Those of a message that ask for a method and were not refused. */
function resultsOf(method: string, body: unknown, answer: RpcAnswer): readonly Granted[] {
  const results = new Map<unknown, unknown>(
    [answer].flat().flatMap((each) => (each && 'result' in each ? [[each.id, each.result]] : [])),
  );
  return [body].flat().flatMap((request) => {
    if (!isObject(request) || !('id' in request) || !('method' in request)) return [];
    const result = results.get(request.id);
    if (request.method !== method || !isObject(result)) return [];
    const params = 'params' in request && isObject(request.params) ? request.params : {};
    return [{ params, result }];
  });
}

/** Does an Accept header name it, and not only to refuse it? */
export function accepts(header: string | undefined, type: string): boolean {
  return header?.split(',').some((range) => isAccepted(range, type)) ?? false;
}

function isAccepted(range: string, type: string): boolean {
  const [name = '', ...params] = range.split(';').map((part) => part.trim().toLowerCase());
  return name === type && !params.some((param) => /^q\s*=\s*0(?:\.0*)?$/.test(param));
}
