// The connection of a node to one gateway: dialled again whenever it is lost, with growing random waits, and
// given up when the gateway is silent for longer than its heartbeats allow.

import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { FabricError, type Fields, fromErrorPayload, type Log, toFields } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import { type LinkChannel, NodeLink, type ServedStream } from '@starloom/wire/node-link';
import { WebSocket } from 'ws';
import { failure } from '../reasons.ts';

interface DialerOptions {
  readonly url: string;
  readonly key: string;
  readonly hello: { readonly node_id: string; readonly run_id: string };
  readonly offers: () => readonly Fields[];
  readonly serve: (stream: ServedStream) => Promise<unknown>;
  readonly onEvent: (event: DialerEvent) => void;
  readonly log: Log;
}

export type DialerEvent =
  | { readonly event: 'connected'; readonly gateway: string; readonly agents: readonly string[] }
  | { readonly event: 'disconnected'; readonly gateway: string; readonly error: FabricError };

const NODE_PROTOCOL = 1;
const CONNECT_MS = 10_000;
const ANSWER_MS = 15_000;
const LEAST_WAIT_MS = 250;
const MAX_WAIT_MS = 5_000;
/** A connection that lasted so long was a good one. */
const GOOD_MS = 10_000;
/** Of the heartbeats of the gateway: then it is gone. */
const MAX_SILENT_BEATS = 2.5;
const MAX_SERVED = 4_096;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const MAX_BUFFERED = 1 << 20;

export class GatewayDialer {
  readonly #options: DialerOptions;
  readonly #stop = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #link: NodeLink | undefined;
  #running: Promise<void> = Promise.resolve();
  /** Offers are sent one after the other: the last one counts. */
  #offering: Promise<unknown> = Promise.resolve();
  #reported: string | undefined;

  constructor(options: DialerOptions) {
    this.#options = options;
    this.#first.promise.catch(() => {});
  }

  start(): void {
    this.#running = this.#run();
  }

  get first(): Promise<void> {
    return this.#first.promise;
  }

  /** Offers the agents of the moment; without a connection the next one does. */
  async offer(): Promise<void> {
    const link = this.#link;
    if (link) await this.#offer(link).catch((error: unknown) => this.#warn(error));
  }

  /** A request to the gateway, if it is connected; never rejects. */
  async tell(method: 'drain' | 'leave' | 'list_changed', params: Fields = {}): Promise<void> {
    if (!this.#link) return;
    await ask(this.#link, method, params).catch((error: unknown) => this.#warn(error));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#link?.close(failure('node_left', { node_id: this.#options.hello.node_id }));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let waitMs = LEAST_WAIT_MS;
    while (!signal.aborted) {
      const began = performance.now();
      const error = await this.#connect().catch((thrown: unknown) => FabricError.from(thrown));
      this.#link = undefined;
      if (signal.aborted) return;
      this.#lost(error);
      if (performance.now() - began > GOOD_MS) waitMs = LEAST_WAIT_MS;
      await delay(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
      waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
    }
  }

  /** Why the connection ended; rejects when there was none. */
  async #connect(): Promise<FabricError> {
    const { url, hello, serve, log } = this.#options;
    const socket = await dial(this.#options, this.#stop.signal);
    const peer = `the gateway at ${url}`;
    const channel = toChannel(socket);
    const link = new NodeLink({ channel, serve, peer, log, maxServed: MAX_SERVED });
    try {
      const welcome = toFields(await ask(link, 'hello', { protocol: NODE_PROTOCOL, ...hello }));
      const { heartbeat_ms: heartbeatMs, max_length: maxLength } = welcome;
      if (typeof maxLength === 'number') link.maxLength = maxLength;
      if (typeof heartbeatMs === 'number') endWhenSilent(socket, MAX_SILENT_BEATS * heartbeatMs);
      this.#link = link;
      const agents = await this.#offer(link);
      this.#reported = undefined;
      this.#options.onEvent({ event: 'connected', gateway: url, agents });
      this.#first.resolve();
    } catch (error) {
      link.close(FabricError.from(error));
      throw error;
    }
    return await link.closed;
  }

  /** The agents that the gateway took. */
  async #offer(link: NodeLink): Promise<string[]> {
    const { offers, url, log } = this.#options;
    const offered = this.#offering.then(() => ask(link, 'offer', { agents: offers() }));
    this.#offering = offered.catch(() => {});
    const { agents } = toFields(await offered);
    const answers = Array.isArray(agents) ? agents.map(toFields) : [];
    for (const { agent_id, ok, error } of answers) {
      if (ok === true) continue;
      const { message, details } = toFields(error);
      const { fix } = toFields(details);
      log.warn({ agent_id, gateway: url, reason: message, fix }, 'the gateway refused an agent');
    }
    return answers.flatMap(({ agent_id, ok }) => (ok === true ? String(agent_id) : []));
  }

  #lost(error: FabricError): void {
    const { url, onEvent } = this.#options;
    this.#first.reject(error);
    const what = `${error.code} ${error.message}`;
    if (what !== this.#reported) onEvent({ event: 'disconnected', gateway: url, error });
    this.#reported = what;
  }

  #warn(thrown: unknown): void {
    const { log, url: gateway } = this.#options;
    const error = FabricError.from(thrown);
    log.warn({ gateway, error }, 'the gateway did not take a request');
  }
}

async function ask(link: NodeLink, method: string, params: Fields): Promise<unknown> {
  using deadline = deadlineSignal({ ms: ANSWER_MS });
  return await link.request(method, params, { signal: deadline.signal });
}

function dial({ url, key }: DialerOptions, signal: AbortSignal): Promise<WebSocket> {
  const address = `${url.replace(/^http/, 'ws').replace(/\/+$/, '')}/node`;
  const socket = new WebSocket(address, {
    headers: { authorization: `Bearer ${key}` },
    handshakeTimeout: CONNECT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  const giveUp = () => socket.terminate();
  signal.addEventListener('abort', giveUp, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', giveUp));
  return new Promise((resolve, reject) => {
    socket.once('unexpected-response', (request, response) => {
      void toRefusal(url, response)
        .then(reject)
        .finally(() => request.destroy());
    });
    socket.on('error', (cause) => reject(failure('gateway_unreachable/node', { url }, { cause })));
    socket.once('open', () => resolve(socket));
  });
}

/** In the words of the gateway, where it has some. */
async function toRefusal(url: string, response: IncomingMessage): Promise<FabricError> {
  const { statusCode: status } = response;
  if (status === 401) return failure('unknown_key/node', { url });
  const other = failure('gateway_unreachable/node', { url, status });
  try {
    const { error } = toFields(JSON.parse(await text(response)));
    return fromErrorPayload(toFields(error).data) ?? other;
  } catch {
    return other;
  }
}

function toChannel(socket: WebSocket): LinkChannel {
  return {
    open(onText, onClose) {
      socket.on('message', (data) => void onText(data.toString()));
      socket.once('close', onClose);
    },
    write(text) {
      if (socket.readyState !== WebSocket.OPEN) throw failure('gateway_unreachable/gone');
      if (socket.bufferedAmount <= MAX_BUFFERED) return socket.send(text, () => {});
      return new Promise((resolve, reject) => {
        socket.send(text, (error) => (error ? reject(error) : resolve()));
      });
    },
    close: () => socket.close(1000),
  };
}

/** A gateway that vanished sends no heartbeats, and no end of the connection either. */
function endWhenSilent(socket: WebSocket, ms: number): void {
  const timer = setTimeout(() => socket.terminate(), ms);
  const hear = () => void timer.refresh();
  socket.on('ping', hear);
  socket.on('message', hear);
  socket.once('close', () => clearTimeout(timer));
}
