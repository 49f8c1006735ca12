// Requests over a connection that may be lost at any time. Whatever was not answered is sent again
// on the next connection, under its own idempotency key, so that it is done once all the same.

import { randomUUID } from 'node:crypto';
import { FabricError, type Log } from '@starloom/core';
import { fromRpcError } from './rpc-error.ts';
import type { Connect, Transport } from './transport.ts';

export interface LinkOptions {
  readonly connect: Connect;
  readonly log: Log;
  /** Called on each connection before anything else is sent; it sends by `direct`. */
  readonly onOpen: (direct: Send) => Promise<void>;
  readonly onPush: (method: string, params: Readonly<Record<string, unknown>>) => void;
  readonly onLost: () => void;
  /** There will be no other connection. */
  readonly onClosed: (reason: FabricError) => void;
  readonly requestMs: number;
  readonly backoffMs: { readonly least: number; readonly most: number };
}

/** What is sent by either. */
export type Sends = Pick<Link, 'request' | 'requestHere'>;
export type Send = (method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>;

interface Pending {
  readonly text: string;
  readonly isDirect: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: FabricError) => void;
  readonly timer: NodeJS.Timeout;
}

export class Link {
  readonly #options: LinkOptions;
  readonly #pending = new Map<number, Pending>();
  #transport: Transport | undefined;
  #isReady = false;
  #isClosed = false;
  #nextId = 1;
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

  readonly request: Send = (method, params) => this.#send(method, params, false);

  /** On this connection only: when it is lost, or there is none, it rejects. */
  readonly requestHere: Send = (method, params) =>
    this.#isReady ? this.#send(method, params, true) : Promise.reject(connectionLost());

  /** Gives up this connection for another. */
  reconnect(): void {
    this.#transport?.close();
  }

  close(reason = new FabricError('CANCELLED', 'The client is closed')): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isReady = false;
    clearTimeout(this.#retry);
    this.#transport?.close();
    for (const id of this.#pending.keys()) this.#settle(id)?.reject(reason);
    this.#options.onClosed(reason);
  }

  #send(method: string, params: Readonly<Record<string, unknown>>, isDirect: boolean) {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#isClosed) {
      reject(new FabricError('CANCELLED', 'The client is closed'));
      return promise;
    }
    const id = this.#nextId;
    this.#nextId += 1;
    const keyed = { idempotency_key: randomUUID(), ...params };
    const text = JSON.stringify({ jsonrpc: '2.0', id, method, params: keyed });
    const ms = this.#options.requestMs + Number(params.wait_ms ?? 0);
    const timer = setTimeout(() => this.#settle(id)?.reject(timeout(method, ms)), ms).unref();
    this.#pending.set(id, { text, isDirect, resolve, reject, timer });
    if (isDirect || this.#isReady) this.#transport?.send(text);
    return promise;
  }

  async #connect(): Promise<void> {
    const transport = await this.#options.connect();
    if (this.#isClosed) return transport.close();
    this.#transport = transport;
    transport.onmessage = (text) => this.#receive(text);
    transport.onclose = () => this.#lost(transport);
    try {
      await this.#options.onOpen((method, params) => this.#send(method, params, true));
    } catch (error) {
      transport.close();
      throw error;
    }
    if (this.#transport !== transport) return;
    this.#isReady = true;
    this.#attempts = 0;
    for (const { text } of this.#pending.values()) transport.send(text);
  }

  #lost(transport: Transport): void {
    if (this.#transport !== transport) return;
    const wasReady = this.#isReady;
    this.#transport = undefined;
    this.#isReady = false;
    for (const [id, { isDirect }] of this.#pending) {
      if (isDirect) this.#settle(id)?.reject(connectionLost());
    }
    if (this.#isClosed) return;
    if (wasReady) this.#options.onLost();
    this.#retryLater();
  }

  #retryLater(): void {
    const { backoffMs, log } = this.#options;
    if (this.#isClosed || this.#retry !== undefined) return;
    const longest = Math.min(backoffMs.most, backoffMs.least * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#retry = setTimeout(
      () => {
        this.#retry = undefined;
        this.#connect().catch((thrown: unknown) => {
          const error = FabricError.from(thrown);
          log.info({ error }, 'coordination: not connected, tries again');
          if (error.code === 'AUTH_DENIED') return this.close(error);
          this.#retryLater();
        });
      },
      longest * (0.5 + Math.random() / 2),
    ).unref();
  }

  #receive(text: string): void {
    const message = parse(text);
    if (message === undefined) return;
    const { id, method, params, error, result } = message;
    if (typeof method === 'string') this.#options.onPush(method, toFields(params));
    else if (error === undefined) this.#settle(Number(id))?.resolve(result);
    else this.#refused(Number(id), fromRpcError(error));
  }

  #refused(id: number, error: FabricError): void {
    const { reason, retry_after_ms: ms } = error.details;
    if (reason === 'in_progress') this.#sendAgain(id, Number(ms));
    else this.#settle(id)?.reject(error);
  }

  /** The first copy of a request is still under way at the server. */
  #sendAgain(id: number, ms: number): void {
    setTimeout(() => {
      const pending = this.#pending.get(id);
      if (pending && this.#isReady) this.#transport?.send(pending.text);
    }, ms).unref();
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    clearTimeout(pending?.timer);
    this.#pending.delete(id);
    return pending;
  }
}

interface WireMessage {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

function parse(text: string): WireMessage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === 'object' && message !== null ? message : undefined;
  } catch {
    return undefined;
  }
}

function toFields(params: unknown): Readonly<Record<string, unknown>> {
  return typeof params === 'object' && params !== null ? { ...params } : {};
}

function timeout(method: string, ms: number): FabricError {
  return new FabricError('TIMEOUT', `No answer to ${method} within ${ms} ms`, {
    details: { method, timeout_ms: ms, fix: 'see whether the gateway can be reached' },
  });
}

function connectionLost(): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The connection was lost', {
    details: { fix: 'none needed: another is made' },
  });
}
