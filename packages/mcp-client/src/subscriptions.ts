// How an agent reports changes. A 2026-07-28 agent has one stream for it, which is opened on demand and
// again, ever more slowly, when it breaks. What changed meanwhile is unknown: a break counts as a change.

import { setTimeout as delay } from 'node:timers/promises';
import type { Client, JSONRPCNotification, McpSubscription } from '@modelcontextprotocol/client';
import { Backoff, FabricError, type Fields, isObject, type Log, orAborted } from '@starloom/core';
import { settlesWithin } from '@starloom/wire';
import type { McpConnection } from './connection.ts';
import type { RequestOptions } from './mcp-client.ts';
import { failure } from './reasons.ts';
import type { ListKind } from './server/lists.ts';

const RETRY = { firstMs: 1_000, longestMs: 60_000 };
const ACKNOWLEDGE_TIMEOUT_MS = 10_000;

interface SubscriptionOptions {
  readonly client: Client;
  readonly kinds: readonly ListKind[];
  readonly log: Log;
  /** Called when the stream was open and broke. */
  readonly onLost: () => void;
}

export class ListSubscription {
  readonly #options: SubscriptionOptions;
  #state: 'idle' | 'opening' | 'open' | 'closed' = 'idle';
  #current: McpSubscription | undefined;
  readonly #backoff = new Backoff(RETRY);
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  /** Whether the stream is open; opens it when it is not. */
  open(): boolean {
    if (this.#state === 'idle' && this.#timer === undefined) void this.#listen();
    return this.#state === 'open';
  }

  close(): void {
    this.#state = 'closed';
    clearTimeout(this.#timer);
    this.#current?.close().catch(() => {});
  }

  async #listen(): Promise<void> {
    this.#state = 'opening';
    const { client, kinds, log, onLost } = this.#options;
    const filter = Object.fromEntries(kinds.map((kind) => [`${kind}ListChanged`, true]));
    try {
      this.#current = await client.listen(filter, { timeout: ACKNOWLEDGE_TIMEOUT_MS });
      if (this.#isClosed()) return this.close();
      this.#state = 'open';
      this.#backoff.succeeded();
      await this.#current.closed;
      if (!this.#isClosed()) onLost();
    } catch (error) {
      log.debug({ cause: String(error) }, 'the agent does not report changed lists');
    }
    if (!this.#isClosed()) this.#later();
  }

  #later(): void {
    this.#state = 'idle';
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#listen();
    }, this.#backoff.failed()).unref();
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }
}

export const LISTEN = 'subscriptions/listen';

const UPDATED = 'notifications/resources/updated';
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const MAX_RESOURCES = 1_000;
const UNSUBSCRIBE_MS = 5_000;
const PUSH_MS = 2_000;
const PUSH_STEP_MS = 20;

type OnUpdate = (uri: string, params: Fields) => void;

/**
 * `subscriptions/listen` for agents of revisions that have none: each resource is subscribed to by
 * a request of its own (`resources/subscribe`), and updates come on the connection. Several may
 * follow the same resource: it is given up with the last of them, or with the connection. Of one
 * connection.
 */
export class OlderSubscriptions {
  readonly #connection: McpConnection;
  readonly #listeners = new Set<OnUpdate>();
  readonly #followers = new Map<string, number>();
  readonly #closed = Promise.withResolvers<never>();

  constructor(connection: McpConnection) {
    this.#connection = connection;
    this.#closed.promise.catch(() => {});
  }

  /** Passes on that a resource changed. */
  noteUpdate(params: Fields): void {
    const { uri } = params;
    if (typeof uri === 'string') for (const listener of this.#listeners) listener(uri, params);
  }

  close(): void {
    this.#closed.reject(failure('closed'));
  }

  /** Lasts until the signal aborts or the connection is lost; rejects with why. */
  async listen(params: Fields | undefined, options: RequestOptions): Promise<never> {
    const { signal, onNotification } = options;
    const { resources } = this.#connection.capabilities;
    if (!resources?.subscribe || !(await this.#hasPush(signal))) throw failure('no_subscriptions');
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
