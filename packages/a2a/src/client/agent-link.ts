// The card of an agent and the connection made from it, shared by all its calls. A card that changed
// makes a new connection; the old one closes with its last call.

import { type FabricError, orAborted } from '@starloom/core';
import { type AddressGuard, type Excerpt, GuardedHttp } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { type AgentFetch, createAgentFetch } from './agent-fetch.ts';
import { chooseInterface, createCardGuard, trustedOrigins } from './choose-interface.ts';
import { A2aConnection } from './connection.ts';
import { fetchCard } from './fetch-card.ts';
import type { A2aOptions } from './options.ts';

/** Where an agent is, and how it is called. */
export interface A2aTarget {
  /** In errors and logs. */
  readonly agentId: string;
  /** Of the agent or of its card. */
  readonly uri: URL;
  /** Of every request; names in lower case, checked. */
  readonly headers: Readonly<Record<string, string>>;
  /** Our certificate, and the CA that its certificate must be of. */
  readonly tls?: NonNullable<ConstructorParameters<typeof GuardedHttp>[0]['connect']> | undefined;
  readonly options: A2aOptions;
  /** Of what the agent wrote, without secrets of ours. */
  readonly excerpt: Excerpt;
}

export class AgentLink {
  readonly #target: A2aTarget;
  readonly #origins: ReadonlySet<string>;
  readonly #guard: AddressGuard;
  readonly #http: GuardedHttp;
  readonly #fetch: AgentFetch;
  readonly #closed = new AbortController();
  readonly #leases = new Map<A2aConnection, number>();
  #current: A2aConnection | undefined;
  #opening: Promise<A2aConnection> | undefined;
  #isStale = false;

  constructor(target: A2aTarget) {
    const { uri, headers, tls = {}, options, excerpt } = target;
    this.#target = target;
    this.#origins = trustedOrigins(uri, options);
    this.#guard = createCardGuard(uri, this.#origins, options);
    this.#http = new GuardedHttp({ guard: this.#guard, connect: tls });
    this.#fetch = createAgentFetch({
      http: this.#http,
      origins: this.#origins,
      headers,
      maxResultBytes: options.max_result_bytes,
      maxStreamBytes: options.max_stream_bytes,
      excerpt,
    });
  }

  /** Aborts when the link is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** A connection that stays open while the lease is held. */
  async acquire(signal: AbortSignal): Promise<Disposable & { connection: A2aConnection }> {
    this.closed.throwIfAborted();
    const known = this.#isStale ? undefined : this.#current;
    const connection = known ?? (await this.refresh(signal));
    this.#leases.set(connection, (this.#leases.get(connection) ?? 0) + 1);
    return { connection, [Symbol.dispose]: () => this.#release(connection) };
  }

  /** Fetches the card again. */
  async refresh(signal: AbortSignal): Promise<A2aConnection> {
    this.closed.throwIfAborted();
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return await orAborted(this.#opening, signal);
  }

  /** The agent may have moved: the next call looks at its card again. */
  invalidate(): void {
    this.#isStale = true;
  }

  /** Calls that are open end; connections are closed by `free`. */
  end(): void {
    this.#closed.abort(failure('closed', { agent_id: this.#target.agentId }));
  }

  async free(): Promise<void> {
    for (const connection of [...this.#leases.keys()]) connection.close();
    this.#leases.clear();
    this.#current?.close();
    await this.#http.close();
  }

  async #open(): Promise<A2aConnection> {
    const { uri, options, headers } = this.#target;
    const card = await fetchCard({ uri, options, fetch: this.#fetch }, this.closed);
    this.#isStale = false;
    const before = this.#current;
    if (before && JSON.stringify(before.card) === JSON.stringify(card)) {
      before.streaming = card.streaming;
      return before;
    }
    const chosen = chooseInterface(card, options, this.#origins);
    const connection = await A2aConnection.open({
      card,
      chosen,
      fetch: this.#fetch,
      guard: this.#guard,
      headers,
    });
    this.#current = connection;
    if (before && !this.#leases.has(before)) before.close();
    if (this.closed.aborted) connection.close();
    return connection;
  }

  #release(connection: A2aConnection): void {
    const left = (this.#leases.get(connection) ?? 1) - 1;
    if (left > 0) return void this.#leases.set(connection, left);
    this.#leases.delete(connection);
    if (connection !== this.#current) connection.close();
  }
}

/** A failure after which the card is looked at again. */
export function mayHaveMoved({ code, details }: FabricError): boolean {
  if (code === 'AGENT_OFFLINE') return true;
  return code === 'CAPABILITY_NOT_FOUND' && details.status === 404;
}
