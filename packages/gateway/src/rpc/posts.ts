// Messages of the coordination plane by POST. A client that leaves gives up what it waits for, as
// one on a connection does. At a shutdown every client gets an answer, also one that waits, and one
// whose request is not done in time.

import type { ServerResponse } from 'node:http';
import type { Coordination, RpcConnection, RpcPeer, RpcReply } from '@starloom/coordination';
import { createSseWriter, SSE_HEADERS, type SseWriter } from '@starloom/wire';
import { InFlight } from '../in-flight.ts';
import type { ActiveRequest } from '../observe/observer.ts';
import type { HttpRequest } from '../transports/http.ts';
import { accepts } from './accepts.ts';
import { mayWait } from './may-wait.ts';
import { OpenTickets } from './open-tickets.ts';
import { resultsOf } from './results-of.ts';
import { shuttingDown } from './shutting-down.ts';

/** Bytes of a request that is one by one with the other large ones of its caller. */
const LARGE_BYTES = 256 * 1024;
const SUBSCRIBE = 'context_coordinator.subscribe';
const KEEP_ALIVE_MS = 15_000;
/** How long what is under way may take at a shutdown. */
const LAST_WORK_MS = 1_000;
/** How long the last answers may take; to a client that does not read it is for ever. */
const FAREWELL_MS = 1_000;

/** The agents of the gateway that the client of a request may see. */
type ListAgents = (
  principal: HttpRequest['principal'],
) => ReturnType<NonNullable<RpcConnection['gatewayAgents']>>;

/** The client of a POST, and what ends the waiting for its answer. */
interface Asking {
  readonly peer: RpcPeer;
  readonly cut: AbortController;
}

export class RpcPosts {
  readonly #coordination: Coordination;
  readonly #listAgents: ListAgents | undefined;
  readonly #asking = new Set<Asking>();
  /** Those that stay open for what is pushed. */
  readonly #streams = new Set<SseWriter>();
  readonly #inFlight = new InFlight();
  /** By caller: until its last large request is answered. */
  readonly #large = new Map<string, Promise<void>>();
  #isClosing = false;

  constructor(coordination: Coordination, listAgents?: ListAgents) {
    this.#coordination = coordination;
    this.#listAgents = listAgents;
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
    const reason = shuttingDown();
    for (const { peer } of this.#asking) void peer.close(reason);
    for (const stream of this.#streams) void stream.close();
    setTimeout(() => {
      for (const { cut } of this.#asking) cut.abort(reason);
    }, LAST_WORK_MS).unref();
  }

  /** Answers what is not done yet, and waits until the answers have left. */
  async close(ms: number): Promise<void> {
    for (const { cut } of this.#asking) cut.abort(shuttingDown());
    await this.#inFlight.untilIdle(Math.max(ms, FAREWELL_MS));
  }

  async #answer({ response, principal, body, seen }: HttpRequest): Promise<void> {
    await this.#withPeer(response, this.#client(principal), async (asking) => {
      const reply = await ask(asking, body, seen);
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
    return { principal, gatewayAgents: () => this.#listAgents?.(principal) ?? [] };
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
    if (this.#isClosing) setTimeout(() => asking.cut.abort(shuttingDown()), LAST_WORK_MS).unref();
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
