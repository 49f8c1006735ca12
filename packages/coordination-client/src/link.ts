// Requests over a connection that may be lost at any time. Whatever was not answered is sent again
// on the next connection, under its own idempotency key, so that it is done once all the same. Until
// it is closed it keeps the process alive: by its connection, or by waiting for the next.

import { backoffMs, FabricError, type Log, toFields } from '@starloom/core';
import { failure } from './reasons.ts';
import {
  fromRpcError,
  type OnLate,
  type OpenRequest,
  type Params,
  PendingRequests,
  refusedBy,
} from './requests.ts';

/** The code of the WebSocket; or that more came at once than the transport takes. */
export type CloseCause = number | 'answer_too_large';

/** Carries JSON-RPC messages, one text each, until it is closed. */
export interface Transport {
  /** Throws, or does nothing, when it is closed. */
  send(text: string): void;
  onmessage: ((text: string) => void) | undefined;
  /** Called once, whichever side closed it; with the cause, where that is known. */
  onclose: ((cause?: CloseCause) => void) | undefined;
  close(): void;
}

/**
 * Makes a new transport, now and after each loss; when the signal aborts, the client needs none.
 */
export type Connect = (signal: AbortSignal) => Promise<Transport>;

export interface LinkOptions {
  readonly connect: Connect;
  readonly log: Log;
  /** Called on each connection before anything else is sent; it sends by `direct`. */
  readonly onOpen: (direct: Send) => Promise<void>;
  /** Anything came: the server is reachable. */
  readonly onHeard: () => void;
  readonly onPush: (method: string, params: Params) => void;
  readonly onLost: () => void;
  readonly onClosed: (reason: FabricError) => void;
  readonly requestMs: number;
  /** How long a request may take without which there is no connection to be used. */
  readonly openingMs: () => number;
  readonly backoffMs: { readonly least: number; readonly most: number };
}

export type Send = (method: string, params: Params, onLate?: OnLate) => Promise<unknown>;

export const MAX_IN_FLIGHT = { brief: 256, waiting: 500 } as const;

/** What keeps a lock, or frees it for others, is not kept waiting. */
const FIRST = ['memory_locker.renew', 'memory_locker.release'];
/** At least so long before a request is sent again whose first copy is under way. */
const AGAIN_MS = 100;
/** The longest pause, whichever side asks for it. */
const MAX_PAUSE_MS = 60_000;

export class Link {
  readonly #options: LinkOptions;
  readonly #outbox = new Outbox((request) => this.#transmit(request));
  readonly #requests = new PendingRequests((request) => this.#outbox.remove(request));
  readonly #closing = new AbortController();
  #closed: FabricError | undefined;
  #transport: Transport | undefined;
  #isReady = false;
  #readyAt: number | undefined;
  #attempts = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** The first connection; rejects when there is none. Later ones come by themselves. */
  async open(): Promise<void> {
    await this.#connect();
  }

  readonly request: Send = async (method, params, onLate) => {
    if (this.#closed) throw this.#closed;
    const { requestMs } = this.#options;
    const request = this.#requests.add(method, params, { isBound: false, requestMs, onLate });
    this.#outbox.add(request);
    return await request.answer;
  };

  /** On this connection only: when it is lost, or there is none, it rejects. */
  readonly requestHere: Send = (...asked) =>
    this.#requestOn(this.#isReady ? this.#transport : undefined, ...asked);

  /** Gives up this connection for another. */
  reconnect(): void {
    this.#transport?.close();
  }

  close(reason = failure('closed')): void {
    if (this.#closed) return;
    this.#closed = reason;
    this.#isReady = false;
    clearTimeout(this.#retry);
    this.#outbox.close();
    this.#closing.abort(reason);
    this.#requests.rejectAll(reason);
    const transport = this.#transport;
    this.#transport = undefined;
    transport?.close();
    this.#options.onClosed(reason);
  }

  async #connect(): Promise<void> {
    const transport = await this.#options.connect(this.#closing.signal);
    if (this.#closed) {
      transport.close();
      throw this.#closed;
    }
    this.#transport = transport;
    transport.onmessage = (text) => {
      if (this.#transport !== transport) return;
      this.#options.onHeard();
      this.#receive(text);
    };
    transport.onclose = (cause) => this.#onTransportClosed(transport, cause);
    try {
      await this.#options.onOpen((...asked) => this.#requestOn(transport, ...asked));
      if (this.#transport !== transport) throw this.#closed ?? failure('connection_lost');
    } catch (error) {
      transport.close();
      this.#onTransportClosed(transport, undefined);
      throw error;
    }
    this.#isReady = true;
    this.#readyAt = performance.now();
    this.#outbox.open(this.#requests.list());
  }

  /** Ahead of all that waits in the outbox. */
  async #requestOn(
    transport: Transport | undefined,
    ...[method, params, onLate]: Parameters<Send>
  ): Promise<unknown> {
    if (this.#closed) throw this.#closed;
    if (!transport || this.#transport !== transport) throw failure('connection_lost');
    const { requestMs, openingMs } = this.#options;
    const request = this.#requests.add(method, params, {
      isBound: true,
      requestMs: this.#isReady ? requestMs : Math.min(requestMs, openingMs()),
      onLate,
    });
    this.#transmit(request);
    return await request.answer;
  }

  #transmit(request: OpenRequest): void {
    request.isInFlight = true;
    request.wasSent = true;
    this.#transport?.send(request.text);
  }

  #onTransportClosed(transport: Transport, cause: CloseCause | undefined): void {
    if (this.#transport !== transport) return;
    const wasReady = this.#isReady;
    this.#transport = undefined;
    this.#isReady = false;
    if (wasReady && this.#hasLasted()) this.#attempts = 0;
    this.#outbox.close();
    const inFlight = this.#requests.list().filter(({ isInFlight }) => isInFlight);
    for (const { id, error } of refusedBy(cause, inFlight)) this.#requests.onRefused(id, error);
    this.#requests.onConnectionLost();
    this.#retryLater();
    if (wasReady) this.#options.onLost();
  }

  /** Else it was one more failure: pauses get longer although there were connections. */
  #hasLasted(): boolean {
    return performance.now() - (this.#readyAt ?? 0) >= this.#options.backoffMs.most;
  }

  /** Not before the first connection, which is its caller's. */
  #retryLater(atLeastMs = 0): void {
    const { most: longestMs, least: firstMs } = this.#options.backoffMs;
    if (this.#closed || this.#retry !== undefined || this.#readyAt === undefined) return;
    this.#attempts += 1;
    const jitter = 0.5 + Math.random() / 2;
    const ms = backoffMs({ firstMs, longestMs, tries: this.#attempts, jitter });
    this.#retry = setTimeout(() => void this.#connectAgain(), Math.max(atLeastMs, ms));
  }

  async #connectAgain(): Promise<void> {
    this.#retry = undefined;
    try {
      await this.#connect();
    } catch (thrown) {
      if (this.#closed) return;
      const error = FabricError.from(thrown);
      this.#options.log.info({ error }, 'coordination: not connected, tries again');
      if (error.code === 'AUTH_DENIED') this.close(error);
      else this.#retryLater(toPause(error.details.retry_after_ms));
    }
  }

  #receive(text: string): void {
    const { id, method, params, error, result } = toFields(parse(text));
    if (typeof method === 'string') this.#options.onPush(method, toFields(params));
    else if (error === undefined || error === null) this.#requests.onAnswered(Number(id), result);
    else this.#onRefused(Number(id), fromRpcError(error));
  }

  #onRefused(id: number, error: FabricError): void {
    const { reason, retry_after_ms } = error.details;
    if (reason === 'in_progress') this.#sendAgain(id, toPause(retry_after_ms));
    else this.#requests.onRefused(id, error);
  }

  /** The first copy of a request is still under way at the server. */
  #sendAgain(id: number, ms: number): void {
    const again = () => {
      const request = this.#requests.get(id);
      if (request?.isInFlight) this.#transmit(request);
    };
    setTimeout(again, Math.max(AGAIN_MS, ms)).unref();
  }
}

/** As long as was asked for, within reason. */
function toPause(ms: unknown): number {
  return Math.min(MAX_PAUSE_MS, Math.max(0, Number(ms) || 0));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * When a request is sent. A bounded number is under way at a time, so that a heartbeat or a renewal never
 * stands behind all that the agent has asked at once; the others wait here, in order. Requests that
 * wait at the server on purpose are counted apart: they would keep the place of others for long.
 */
class Outbox {
  readonly #send: (request: OpenRequest) => void;
  readonly #brief: SendLane;
  readonly #waiting: SendLane;
  #isOpen = false;

  constructor(send: (request: OpenRequest) => void) {
    this.#send = send;
    this.#brief = new SendLane(MAX_IN_FLIGHT.brief, send);
    this.#waiting = new SendLane(MAX_IN_FLIGHT.waiting, send);
  }

  /** There is a connection: all of these are to be sent, in this order. */
  open(requests: readonly OpenRequest[]): void {
    this.#isOpen = true;
    for (const request of requests.filter(isFirst)) this.add(request);
    for (const request of requests.filter((each) => !isFirst(each))) this.add(request);
  }

  /** The connection is gone; the next one starts empty. */
  close(): void {
    this.#isOpen = false;
    this.#brief.clear();
    this.#waiting.clear();
  }

  add(request: OpenRequest): void {
    if (!this.#isOpen) return;
    if (isFirst(request)) this.#send(request);
    else this.#laneOf(request).add(request);
  }

  /** The caller does not wait for the answer any more. */
  remove(request: OpenRequest): void {
    this.#laneOf(request).remove(request);
  }

  #laneOf({ waitMs }: OpenRequest): SendLane {
    return waitMs > 0 ? this.#waiting : this.#brief;
  }
}

class SendLane {
  readonly #most: number;
  readonly #send: (request: OpenRequest) => void;
  readonly #queue = new Set<OpenRequest>();
  readonly #inFlight = new Set<OpenRequest>();

  constructor(most: number, send: (request: OpenRequest) => void) {
    this.#most = most;
    this.#send = send;
  }

  add(request: OpenRequest): void {
    this.#queue.add(request);
    this.#sendNext();
  }

  remove(request: OpenRequest): void {
    this.#queue.delete(request);
    if (this.#inFlight.delete(request)) this.#sendNext();
  }

  clear(): void {
    this.#queue.clear();
    this.#inFlight.clear();
  }

  #sendNext(): void {
    const [next] = this.#queue;
    if (next === undefined || this.#inFlight.size >= this.#most) return;
    this.#queue.delete(next);
    this.#inFlight.add(next);
    this.#send(next);
  }
}

function isFirst({ method }: OpenRequest): boolean {
  return FIRST.includes(method);
}
