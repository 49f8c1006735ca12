// Updates of the resources of one agent, for all clients that follow any of them. The agent sees one
// subscription for all; it is made again when another resource joins, and when it breaks.

import { Backoff, FabricError, type Log, type ProtocolNotification } from '@starloom/core';
import { settlesWithin } from '@starloom/wire';
import type { Following } from './session-resources.ts';

export interface AgentFeedOptions {
  /** Subscribes at the agent; settles when that is over. Aborted with a FabricError. */
  readonly listen: (
    uris: readonly string[],
    signal: AbortSignal,
    onNotification: (notification: ProtocolNotification) => void,
  ) => Promise<unknown>;
  readonly log: Log;
}

type Listener = () => void;

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const UPDATED = 'notifications/resources/updated';
const ACKNOWLEDGE_MS = 10_000;
const RETRY = { firstMs: 1_000, longestMs: 60_000 };

export class AgentFeed {
  readonly #options: AgentFeedOptions;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** What the agent agreed to, in the subscription that is open. */
  #agreed: ReadonlySet<unknown> = new Set();
  #current: AbortController | undefined;
  #turn: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;
  readonly #backoff = new Backoff(RETRY);

  constructor(options: AgentFeedOptions) {
    this.#options = options;
  }

  /** From now on; `undefined` when the agent does not agree to it. */
  async follow(uri: string, listener: Listener): Promise<Following | undefined> {
    const listeners = this.#listeners.get(uri) ?? new Set();
    this.#listeners.set(uri, listeners.add(listener));
    const stop = () => this.#leave(uri, listener);
    await this.#sync();
    if (this.#agreed.has(uri)) return { stop };
    stop();
    return undefined;
  }

  /** The agent is another one now: it has to agree again. */
  restart(): void {
    this.#current?.abort(subscriptionOver());
  }

  close(): void {
    this.#listeners.clear();
    clearTimeout(this.#retry);
    this.#current?.abort(subscriptionOver());
  }

  #leave(uri: string, listener: Listener): void {
    const listeners = this.#listeners.get(uri);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(uri);
    if (this.#listeners.size === 0) this.close();
  }

  /** One after the other. */
  #sync(): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#subscribe())
      .catch((error: unknown) => {
        this.#options.log.debug({ error: FabricError.from(error) }, 'resources are not followed');
      });
    return this.#turn;
  }

  async #subscribe(): Promise<void> {
    const uris = [...this.#listeners.keys()];
    if (uris.every((uri) => this.#agreed.has(uri))) return;
    const control = new AbortController();
    const agreed = Promise.withResolvers<ReadonlySet<unknown>>();
    const over = this.#options
      .listen(uris, control.signal, ({ method, params = {} }) => {
        if (method === ACKNOWLEDGED) agreed.resolve(agreedIn(params));
        if (method === UPDATED) this.#notify(params.uri);
      })
      .then(() => agreed.reject(subscriptionOver()), agreed.reject);
    if (!(await settlesWithin(agreed.promise, ACKNOWLEDGE_MS))) control.abort(subscriptionOver());
    this.#agreed = await agreed.promise;
    const before = this.#current;
    this.#current = control;
    before?.abort(subscriptionOver());
    this.#backoff.succeeded();
    void over.then(() => this.#lost(control));
  }

  #notify(uri: unknown): void {
    for (const listener of this.#listeners.get(String(uri)) ?? []) listener();
  }

  #lost(control: AbortController): void {
    if (control !== this.#current) return;
    this.#current = undefined;
    this.#agreed = new Set();
    this.#again();
  }

  /** What was updated meanwhile is not known, so all count as updated. */
  #again(): void {
    clearTimeout(this.#retry);
    if (this.#listeners.size === 0) return;
    this.#retry = setTimeout(async () => {
      await this.#sync();
      if (!this.#current) return this.#again();
      for (const uri of this.#listeners.keys()) this.#notify(uri);
    }, this.#backoff.failed()).unref();
  }
}

function agreedIn({ notifications }: Record<string, unknown>): ReadonlySet<unknown> {
  const { resourceSubscriptions: uris } = (notifications ?? {}) as Record<string, unknown>;
  return new Set(Array.isArray(uris) ? uris : []);
}

function subscriptionOver(): FabricError {
  return new FabricError('CANCELLED', 'The subscription at the agent is over');
}
