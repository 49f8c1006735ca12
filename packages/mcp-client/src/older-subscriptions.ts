// `subscriptions/listen` for agents of revisions that have none: each resource is subscribed to by a
// request of its own (`resources/subscribe`), and updates come on the connection. Several may follow
// the same resource: it is given up with the last of them, or with the connection.

import { setTimeout as delay } from 'node:timers/promises';
import type { JSONRPCNotification } from '@modelcontextprotocol/client';
import { FabricError, type Fields, isObject, orAborted } from '@starloom/core';
import { settlesWithin } from '@starloom/wire';
import { closedFailure } from './closed-failure.ts';
import type { McpConnection } from './connection.ts';
import type { RequestOptions } from './request-options.ts';

export const LISTEN = 'subscriptions/listen';

const UPDATED = 'notifications/resources/updated';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const MAX_RESOURCES = 1_000;
const UNSUBSCRIBE_MS = 5_000;
const PUSH_MS = 2_000;
const PUSH_STEP_MS = 20;

type OnUpdate = (uri: string, params: Fields) => void;

/** Of one connection. */
export class OlderSubscriptions {
  readonly #connection: McpConnection;
  readonly #listeners = new Set<OnUpdate>();
  readonly #followers = new Map<string, number>();
  readonly #closed = Promise.withResolvers<never>();

  constructor(connection: McpConnection) {
    this.#connection = connection;
    this.#closed.promise.catch(() => {});
  }

  /** The agent said that a resource changed. */
  updated(params: Fields): void {
    const { uri } = params;
    if (typeof uri === 'string') for (const listener of this.#listeners) listener(uri, params);
  }

  close(): void {
    this.#closed.reject(closedFailure());
  }

  /** Lasts until the signal aborts or the connection is lost; rejects with why. */
  async listen(params: Fields | undefined, options: RequestOptions): Promise<never> {
    const { signal, onNotification } = options;
    const { resources } = this.#connection.capabilities;
    if (!resources?.subscribe || !(await this.#hasPush(signal))) throw unsupported();
    const tell = (method: string, said: Fields) =>
      void onNotification?.({ jsonrpc: '2.0', method, params: said } as JSONRPCNotification);
    const agreed = new Set<string>();
    const listener: OnUpdate = (uri, said) => agreed.has(uri) && tell(UPDATED, said);
    this.#listeners.add(listener);
    try {
      for (const uri of urisIn(params)) if (await this.#follow(uri, signal)) agreed.add(uri);
      tell(ACKNOWLEDGED, { notifications: { resourceSubscriptions: [...agreed] } });
      return await orAborted(this.#closed.promise, signal);
    } finally {
      this.#listeners.delete(listener);
      for (const uri of agreed) this.#leave(uri);
    }
  }

  /** Over HTTP the stream for it is opened after the handshake; some agents offer none. */
  async #hasPush(signal: AbortSignal): Promise<boolean> {
    for (let waited = 0; !this.#connection.hasPush; waited += PUSH_STEP_MS) {
      if (waited >= PUSH_MS || this.#connection.isClosed) return false;
      await delay(PUSH_STEP_MS);
      if (signal.aborted) throw signal.reason;
    }
    return true;
  }

  /** False when the agent does not agree. */
  async #follow(uri: string, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) throw signal.reason;
    const followers = this.#followers.get(uri) ?? 0;
    if (followers === 0) {
      const isAgreed = await this.#request('resources/subscribe', uri, signal).then(
        () => true,
        (error: unknown) => FabricError.from(error),
      );
      if (isAgreed !== true) {
        if (signal.aborted || this.#connection.isClosed) throw isAgreed;
        return false;
      }
    }
    this.#followers.set(uri, (this.#followers.get(uri) ?? 0) + 1);
    return true;
  }

  #leave(uri: string): void {
    const followers = (this.#followers.get(uri) ?? 1) - 1;
    if (followers > 0) {
      this.#followers.set(uri, followers);
      return;
    }
    this.#followers.delete(uri);
    if (this.#connection.isClosed) return;
    const asked = this.#request('resources/unsubscribe', uri, AbortSignal.timeout(UNSUBSCRIBE_MS));
    void settlesWithin(asked, UNSUBSCRIBE_MS);
  }

  async #request(method: string, uri: string, signal: AbortSignal): Promise<void> {
    const exchange = this.#connection.send(method, { uri });
    exchange.follow(signal);
    while (await exchange.next());
    exchange.result();
  }
}

function urisIn(params: Fields | undefined): readonly string[] {
  const wanted = isObject(params?.notifications) ? params.notifications.resourceSubscriptions : [];
  if (!Array.isArray(wanted)) return [];
  return wanted.filter((uri) => typeof uri === 'string').slice(0, MAX_RESOURCES);
}

function unsupported(): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'The agent does not tell of changed resources', {
    details: { reason: 'no_subscriptions', sent: false },
  });
}
