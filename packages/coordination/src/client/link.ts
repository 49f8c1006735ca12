// Requests over a connection that may be lost at any time. Whatever was not answered is sent again
// on the next connection, under its own idempotency key, so that it is done once all the same. Until
// it is closed it keeps the process alive: by its connection, or by waiting for the next.

import { FabricError, type Log } from '@starloom/core';
import {
  connectionLost,
  type OnLate,
  type OpenRequest,
  OpenRequests,
  type Params,
} from './open-requests.ts';
import { refusedBy } from './refused-frame.ts';
import { fromRpcError, toFields } from './rpc-error.ts';
import type { Connect, Transport } from './transport.ts';

export interface LinkOptions {
  readonly connect: Connect;
  readonly log: Log;
  /** Called on each connection before anything else is sent; it sends by `direct`. */
  readonly onOpen: (direct: Send) => Promise<void>;
  readonly onPush: (method: string, params: Params) => void;
  readonly onLost: () => void;
  /** There will be no other connection. */
  readonly onClosed: (reason: FabricError) => void;
  readonly requestMs: number;
  readonly backoffMs: { readonly least: number; readonly most: number };
}

/** What is sent by either. */
export type Sends = Pick<Link, 'request' | 'requestHere'>;
export type Send = (method: string, params: Params, onLate?: OnLate) => Promise<unknown>;

/** At least so long before a request is sent again whose first copy is under way. */
const AGAIN_MS = 100;

export class Link {
  readonly #options: LinkOptions;
  readonly #requests = new OpenRequests();
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
    const request = this.#add(false, method, params, onLate);
    if (this.#isReady) this.#transmit(request);
    return await request.answer;
  };

  /** On this connection only: when it is lost, or there is none, it rejects. */
  readonly requestHere: Send = (...asked) =>
    this.#requestOn(this.#isReady ? this.#transport : undefined, ...asked);

  /** Gives up this connection for another. */
  reconnect(): void {
    this.#transport?.close();
  }

  close(reason = new FabricError('CANCELLED', 'The client is closed')): void {
    if (this.#closed) return;
    this.#closed = reason;
    this.#isReady = false;
    clearTimeout(this.#retry);
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
      if (this.#transport === transport) this.#receive(text);
    };
    transport.onclose = (code) => this.#lost(transport, code);
    try {
      await this.#options.onOpen((...asked) => this.#requestOn(transport, ...asked));
      if (this.#transport !== transport) throw this.#closed ?? connectionLost();
    } catch (error) {
      transport.close();
      this.#lost(transport, undefined);
      throw error;
    }
    this.#isReady = true;
    this.#readyAt = performance.now();
    for (const request of this.#requests.list()) this.#transmit(request);
  }

  async #requestOn(transport: Transport | undefined, ...asked: Parameters<Send>) {
    if (this.#closed) throw this.#closed;
    if (!transport || this.#transport !== transport) throw connectionLost();
    const request = this.#add(true, ...asked);
    this.#transmit(request);
    return await request.answer;
  }

  #add(isBound: boolean, ...[method, params, onLate]: Parameters<Send>): OpenRequest {
    const ms = this.#options.requestMs + Number(params.wait_ms ?? 0);
    return this.#requests.add(method, params, { isBound, ms, onLate });
  }

  #transmit(request: OpenRequest): void {
    request.isInFlight = true;
    request.wasSent = true;
    this.#transport?.send(request.text);
  }

  #lost(transport: Transport, code: number | undefined): void {
    if (this.#transport !== transport) return;
    const wasReady = this.#isReady;
    this.#transport = undefined;
    this.#isReady = false;
    if (wasReady && this.#hasLasted()) this.#attempts = 0;
    const inFlight = this.#requests.list().filter(({ isInFlight }) => isInFlight);
    for (const { id, error } of refusedBy(code, inFlight)) this.#requests.refused(id, error);
    this.#requests.lost();
    this.#retryLater();
    if (wasReady) this.#options.onLost();
  }

  /** Else it was one more failure: pauses get longer although there were connections. */
  #hasLasted(): boolean {
    return performance.now() - (this.#readyAt ?? 0) >= this.#options.backoffMs.most;
  }

  /** Not before the first connection, which is its caller's. */
  #retryLater(atLeastMs = 0): void {
    const { most, least } = this.#options.backoffMs;
    if (this.#closed || this.#retry !== undefined || this.#readyAt === undefined) return;
    const longest = Math.min(most, least * 2 ** this.#attempts);
    this.#attempts += 1;
    const ms = Math.max(atLeastMs, longest * (0.5 + Math.random() / 2));
    this.#retry = setTimeout(() => void this.#connectAgain(), ms);
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
      else this.#retryLater(Number(error.details.retry_after_ms ?? 0));
    }
  }

  #receive(text: string): void {
    const { id, method, params, error, result } = toFields(parse(text));
    if (typeof method === 'string') this.#options.onPush(method, toFields(params));
    else if (error === undefined || error === null) this.#requests.answered(Number(id), result);
    else this.#refused(Number(id), fromRpcError(error));
  }

  #refused(id: number, error: FabricError): void {
    const { reason, retry_after_ms } = error.details;
    if (reason === 'in_progress') this.#sendAgain(id, Number(retry_after_ms) || 0);
    else this.#requests.refused(id, error);
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
