// What one connection receives about sessions without asking: that the context of one it subscribed
// to has changed, and that its principal is in another set of sessions than before. A subscription
// to a session that is not there (yet) is kept, and tells nothing until the principal is in it.

import type { ConnectedPrincipal, ContextWatcher } from '@starloom/coordination';
import { FabricError, type Log } from '@starloom/core';
import type { Following } from './session-resources.ts';

/** Resources that tell of updates. */
export interface FollowedResources {
  /** Whether it may be one of these. */
  owns(uri: unknown): uri is string;
  /** Whether a subscription is good before there is such a resource for the principal. */
  isAwaited(uri: string): boolean;
  /** From now on; `undefined` when there is no such resource for the principal. */
  follow(
    uri: string,
    principal: ConnectedPrincipal,
    watcher: ContextWatcher,
  ): Promise<Following | undefined>;
  followList(principal: ConnectedPrincipal, onChange: () => void): Promise<Following>;
}

export interface SessionUpdatesOptions {
  readonly resources: FollowedResources;
  readonly principal: ConnectedPrincipal;
  readonly log: Log;
  /** Each resolves when the reader has room for the next. */
  readonly tellUpdated: (uri: string) => Promise<void>;
  readonly tellListChanged: () => Promise<void>;
}

/** By which a client ends its subscription again. */
export type SubscriptionId = string | number;

const LIST = '';
const RETRY_MS = 1_000;
/** Per connection. */
const MAX_URIS = 1_000;

export class SessionUpdates {
  readonly #options: SessionUpdatesOptions;
  readonly #notices: Coalesced;
  readonly #wanted = new Map<SubscriptionId, readonly string[]>();
  readonly #followed = new Map<string, Following>();
  #list: Following | undefined;
  #turn: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;
  #trouble: FabricError | undefined;
  #closed = false;

  constructor(options: SessionUpdatesOptions) {
    const { tellUpdated, tellListChanged, log } = options;
    this.#options = options;
    const send = (key: string) => (key === LIST ? tellListChanged() : tellUpdated(key));
    this.#notices = new Coalesced(send, log);
    void this.#sync('in time');
  }

  /**
   * Those of the URIs that can be subscribed to; settles when the client receives updates from now
   * on.
   */
  async subscribe(id: SubscriptionId, uris: readonly unknown[]): Promise<string[]> {
    const { resources } = this.#options;
    const already = this.#wantedUris().size;
    const served = uris
      .filter((uri) => resources.owns(uri))
      .slice(0, Math.max(0, MAX_URIS - already));
    this.#wanted.set(id, served);
    await this.#sync('in time');
    const good = served.filter((uri) => this.#followed.has(uri) || resources.isAwaited(uri));
    if (this.#wanted.has(id)) this.#wanted.set(id, good);
    return good;
  }

  isSubscribed(id: SubscriptionId): boolean {
    return this.#wanted.has(id);
  }

  /** Whether there is such a resource for the principal now. */
  isFollowed(uri: string): boolean {
    return this.#followed.has(uri);
  }

  /** Why sessions cannot be followed at present, if they cannot. */
  get trouble(): FabricError | undefined {
    return this.#trouble;
  }

  async unsubscribe(id: SubscriptionId): Promise<void> {
    if (this.#wanted.delete(id)) await this.#sync('in time');
  }

  close(): void {
    this.#closed = true;
    this.#notices.close();
    clearTimeout(this.#retry);
    this.#list?.stop();
    for (const following of this.#followed.values()) following.stop();
    this.#followed.clear();
    this.#wanted.clear();
  }

  /**
   * One after the other. A session followed late may have missed an update, so its client receives
   * one.
   */
  #sync(begun: 'in time' | 'late'): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#followWanted(begun))
      .catch((error) => this.#fail(error));
    return this.#turn;
  }

  async #followWanted(begun: 'in time' | 'late'): Promise<void> {
    if (this.#closed) return;
    const wanted = this.#wantedUris();
    for (const [uri, following] of this.#followed) {
      if (wanted.has(uri)) continue;
      following.stop();
      this.#followed.delete(uri);
    }
    await this.#followList();
    for (const uri of wanted) {
      if (this.#followed.has(uri)) continue;
      const isFollowed = await this.#follow(uri);
      if (isFollowed && begun === 'late') this.#notices.note(uri);
    }
    this.#trouble = undefined;
  }

  #wantedUris(): ReadonlySet<string> {
    return new Set([...this.#wanted.values()].flat());
  }

  async #followList(): Promise<void> {
    if (this.#list !== undefined) return;
    const { resources, principal } = this.#options;
    const following = await resources.followList(principal, () => {
      this.#notices.note(LIST);
      void this.#sync('late');
    });
    this.#list = following;
    if (this.#closed) following.stop();
  }

  async #follow(uri: string): Promise<boolean> {
    const { resources, principal } = this.#options;
    const following = await resources.follow(uri, principal, {
      updated: () => this.#notices.note(uri),
      over: () => void this.#again(uri),
    });
    if (following === undefined) return false;
    this.#followed.set(uri, following);
    if (this.#closed) following.stop();
    return true;
  }

  /** The principal may still be in the session by another agent. */
  async #again(uri: string): Promise<void> {
    await this.#turn;
    this.#followed.get(uri)?.stop();
    this.#followed.delete(uri);
    await this.#sync('late');
  }

  #fail(thrown: unknown): void {
    this.#trouble = FabricError.from(thrown);
    this.#options.log.warn({ error: this.#trouble }, 'sessions cannot be followed; tries again');
    if (this.#closed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#sync('late'), RETRY_MS).unref();
  }
}

/**
 * Sends a notice per key, one at a time: what happens while one is under way becomes one more after
 * it, however much it was. So a slow reader gets few notices, and none is kept for it.
 */
export class Coalesced {
  readonly #send: (key: string) => Promise<void>;
  readonly #log: Log;
  /** Keys whose notice is under way, with whether one more is due. */
  readonly #sending = new Map<string, boolean>();
  #closed = false;

  constructor(send: (key: string) => Promise<void>, log: Log) {
    this.#send = send;
    this.#log = log;
  }

  note(key: string): void {
    if (this.#closed) return;
    const isUnderWay = this.#sending.has(key);
    this.#sending.set(key, isUnderWay);
    if (!isUnderWay) void this.#sendAll(key);
  }

  close(): void {
    this.#closed = true;
    this.#sending.clear();
  }

  async #sendAll(key: string): Promise<void> {
    do {
      this.#sending.set(key, false);
      try {
        await this.#send(key);
      } catch (error) {
        this.#log.debug({ error: FabricError.from(error) }, 'a notice could not be sent');
      }
    } while (this.#sending.get(key));
    this.#sending.delete(key);
  }
}
