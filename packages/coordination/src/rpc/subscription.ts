// One subscription of a connection: what it receives of a session, from a cursor on. When one event
// goes to thousands, most of what each costs is to touch what belongs to it: so this is one object,
// and nothing lies between it and the transport.

import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { JsonObject } from '@starloom/core';
import type { Caller } from '../agents/caller.ts';
import type { EventFilter } from '../context/context-event.ts';
import type { CoordinationStore, StoredEvent } from '../coordination-store.ts';
import type { EventFeeds, Follower, Following } from '../feed/event-feed.ts';
import { HEAD, partitionOf } from '../partitions.ts';
import { isReason } from '../reasons.ts';
import type { Access, SessionAccess } from '../session/session-access.ts';
import type { RpcConnection } from './peer.ts';
import {
  isOver,
  type Subscriber,
  toNotification,
  toSubscriptionPush,
  whyOver,
} from './push-messages.ts';

export interface SubscriptionOptions {
  readonly access: Access;
  readonly subscription_id: string;
  readonly filter: EventFilter;
  readonly after: number;
  readonly backlog: number;
  /** By these it is found out, after a gap, whether the agent is still a member. */
  readonly sessions: SessionAccess;
  readonly store: CoordinationStore;
  readonly push: NonNullable<RpcConnection['push']>;
  /** Disposed of when it stops. */
  readonly counted: Disposable;
  /** Nothing more comes. */
  readonly onOver: () => void;
}

export class Subscription implements Subscriber, Follower {
  readonly session_id: string;
  readonly subscription_id: string;
  readonly filter: EventFilter;
  readonly after: number;
  readonly backlog: number;
  readonly #options: SubscriptionOptions;
  readonly #agentId: string;
  readonly #push: SubscriptionOptions['push'];
  /** The answer with the id goes out before the first notification under it. */
  #gate: Promise<void> | undefined;
  #following: Following | undefined;
  #isStopped = false;

  constructor(options: SubscriptionOptions) {
    const { sessionId, caller } = options.access;
    this.session_id = sessionId;
    this.subscription_id = options.subscription_id;
    this.filter = options.filter;
    this.after = options.after;
    this.backlog = options.backlog;
    this.#options = options;
    this.#agentId = caller.agentId;
    this.#push = options.push;
  }

  async start(feeds: EventFeeds): Promise<void> {
    this.#gate = new Promise<void>((resolve) => {
      setImmediate(resolve);
    }).then(() => {
      this.#gate = undefined;
    });
    this.#following = await feeds.follow(this.#options.access.partition, this);
    if (this.#isStopped) this.#following.stop();
  }

  stop(): void {
    this.#isStopped = true;
    this.#options.counted[Symbol.dispose]();
    this.#following?.stop();
  }

  deliver(event: StoredEvent): Promise<void> | void {
    return this.#gate ? this.#gate.then(() => this.#tell(event)) : this.#tell(event);
  }

  /** What was passed over may have said that the agent is no longer a member. */
  async gap(cursor: number): Promise<void> {
    await this.#gate;
    const { session_id, subscription_id } = this;
    const version = await this.#versionForMember();
    if (version === undefined) return await this.#end('not_a_member');
    await this.#say('snapshot_required', { session_id, subscription_id, version, cursor });
  }

  #tell(event: StoredEvent): Promise<void> | void {
    const text = toSubscriptionPush(this, event);
    const pushed = text === undefined || this.#isStopped ? undefined : this.#push(text);
    if (!isOver(event, this.#agentId)) return pushed;
    return Promise.resolve(pushed).then(() => this.#endFor(whyOver(event)));
  }

  /**
   * An agent that left may be back: then the event is out of date, and the subscription goes on.
   */
  async #endFor(reason: ReturnType<typeof whyOver>): Promise<void> {
    const isBack = reason === 'not_a_member' && (await this.#versionForMember()) !== undefined;
    if (!isBack) await this.#end(reason);
  }

  async #versionForMember(): Promise<number | undefined> {
    const { store, sessions, access } = this.#options;
    return await versionForMember({
      store,
      access: sessions,
      caller: access.caller,
      sessionId: this.session_id,
      isWanted: () => !this.#isStopped,
    });
  }

  async #end(reason: string): Promise<void> {
    const { session_id, subscription_id } = this;
    await this.#say('subscription_ended', { session_id, subscription_id, reason });
    this.#options.onOver();
  }

  async #say(what: 'snapshot_required' | 'subscription_ended', params: JsonObject): Promise<void> {
    if (!this.#isStopped) await this.#push(toNotification(`context_coordinator.${what}`, params));
  }
}

const ID_BYTES = 12;

export function subscriptionId(sessionId: string, filter: EventFilter): string {
  const what = JSON.stringify([sessionId, filter]);
  return hash('sha256', what, 'buffer').toString('hex', 0, ID_BYTES);
}

const RETRY_MS = 250;

interface Membership {
  readonly store: CoordinationStore;
  readonly access: SessionAccess;
  readonly caller: Pick<Caller, 'agentId' | 'principalId'>;
  readonly sessionId: string;
  /** False when the answer is not needed any more. */
  readonly isWanted: () => boolean;
}

/**
 * The version of the context, if the agent may still receive events of the session. Asks until the
 * store answers.
 */
export async function versionForMember(membership: Membership): Promise<number | undefined> {
  const { store, access, caller, sessionId, isWanted } = membership;
  while (isWanted()) {
    try {
      await access.fresh(caller, sessionId, { role: 'reader' });
      const { entries } = await store.read(partitionOf.session(sessionId), [HEAD]);
      return entries.get(HEAD)?.version ?? 0;
    } catch (error) {
      if (isReason(error, 'not_found') || isReason(error, 'stale_epoch')) return undefined;
      await setTimeout(RETRY_MS, undefined, { ref: false });
    }
  }
  return undefined;
}
