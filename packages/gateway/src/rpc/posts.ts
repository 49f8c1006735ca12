// Messages of the coordination plane by POST. A client that leaves gives up what it waits for, as one
// on a connection does; at a shutdown whoever still waits is told so.

import type { ServerResponse } from 'node:http';
import type { Connection, Coordination, RpcAnswer, RpcPeer } from '@starloom/coordination';
import { createSseWriter, SSE_HEADERS, type SseWriter } from '@starloom/wire';
import { InFlight } from '../in-flight.ts';
import type { HttpExchange } from '../transports/http.ts';
import { accepts } from './accepts.ts';
import { cutShort } from './cut-short.ts';
import { isSubscribed } from './is-subscribed.ts';

const KEEP_ALIVE_MS = 15_000;
/** How long the last answers may take; to a client that does not read it is for ever. */
const FAREWELL_MS = 1_000;

export class RpcPosts {
  readonly #coordination: Coordination;
  readonly #peers = new Set<RpcPeer>();
  /** Those that stay open for what is pushed. */
  readonly #streams = new Set<SseWriter>();
  readonly #inFlight = new InFlight();
  #isClosing = false;

  constructor(coordination: Coordination) {
    this.#coordination = coordination;
  }

  async serve(exchange: HttpExchange): Promise<void> {
    const isStream = accepts(exchange.request.headers.accept, 'text/event-stream');
    await this.#inFlight.during(() => (isStream ? this.#stream(exchange) : this.#answer(exchange)));
  }

  /** Answers what is still waiting, and ends the streams. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const peer of this.#peers) void peer.close();
    for (const stream of this.#streams) void stream.close();
    await this.#inFlight.untilIdle(FAREWELL_MS);
  }

  async #answer({ response, principal, body }: HttpExchange): Promise<void> {
    await this.#withPeer(response, { principal }, async (peer) => {
      const answer = await this.#ask(peer, body);
      if (answer === undefined) response.writeHead(204).end();
      else {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      }
      if (this.#isClosing) await untilClosed(response);
    });
  }

  /** The answer as the first event, then what is pushed, until the client leaves or all is said. */
  async #stream({ response, principal, body }: HttpExchange): Promise<void> {
    response.writeHead(200, SSE_HEADERS);
    await using stream = createSseWriter(response, { keepAliveMs: KEEP_ALIVE_MS });
    const send = (data: string) => stream.send({ event: 'message', data });
    const answered = Promise.withResolvers<void>();
    const push = async (notification: string) => {
      await answered.promise;
      await send(notification);
    };
    const onSubscriptionsOver = () => void stream.close();
    await this.#withPeer(response, { principal, push, onSubscriptionsOver }, async (peer) => {
      try {
        const answer = await this.#ask(peer, body);
        if (answer !== undefined) await send(JSON.stringify(answer));
        if (this.#isClosing || !isSubscribed(body, answer)) return;
      } finally {
        answered.resolve();
      }
      this.#streams.add(stream);
      await stream.closed;
      this.#streams.delete(stream);
    });
  }

  async #ask(peer: RpcPeer, message: unknown): Promise<RpcAnswer> {
    const answer = await peer.handle(message);
    return this.#isClosing ? cutShort(answer) : answer;
  }

  /** The peer ends with the work, or before it when the client leaves. */
  async #withPeer(
    response: ServerResponse,
    connection: Connection,
    work: (peer: RpcPeer) => Promise<void>,
  ): Promise<void> {
    const peer = this.#coordination.connect(connection);
    const leave = () => void peer.close();
    response.once('close', leave);
    if (response.destroyed) leave();
    this.#peers.add(peer);
    try {
      await work(peer);
    } finally {
      this.#peers.delete(peer);
      response.off('close', leave);
      await peer.close();
    }
  }
}

/** Everything of it is with the system then, or the client is gone. */
async function untilClosed(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  await new Promise((resolve) => response.once('close', resolve));
}
