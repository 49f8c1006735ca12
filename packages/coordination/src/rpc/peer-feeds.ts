// What one connection is told without asking again: its subscriptions, and the notices of the
// sessions its agents are in. It all ends with the connection, with the session, or when the agent
// is no longer a member.

import type { CoordinationStore } from '@starloom/core';
import { fromHolder } from '../agents/caller.ts';
import type { EventFilter } from '../context/event-filter.ts';
import type { EventFeeds, Following } from '../feed/event-feed.ts';
import { partitionOf } from '../partitions.ts';
import { assertCount } from '../quota/assert-quota.ts';
import type { CoordinationLimits } from '../quota/limits.ts';
import type { Access, SessionAccess } from '../session/session-access.ts';
import type { Connection } from './connection.ts';
import { versionForMember } from './membership.ts';
import { isNotice, isOver, toNotice, toNotification } from './push-messages.ts';
import { Subscription, subscriptionId } from './subscription.ts';

export interface PeerFeedsOptions {
  readonly principalId: string;
  readonly store: CoordinationStore;
  readonly access: SessionAccess;
  readonly feeds: EventFeeds;
  readonly limits: CoordinationLimits;
  readonly connection: Pick<Connection, 'push' | 'onSubscriptionsOver'>;
}

export interface WhichSubscriptions {
  readonly session_id?: string | undefined;
  readonly subscription_id?: string | undefined;
}

interface Notices {
  /** The life of the agent whose locks are its own. */
  holder: string;
  readonly following: Promise<Following>;
}

export class PeerFeeds {
  readonly #options: PeerFeedsOptions;
  readonly #subscriptions = new Map<string, Subscription>();
  /** By session and agent; several agents may share a connection. */
  readonly #notices = new Map<string, Notices>();
  #closed = false;

  constructor(options: PeerFeedsOptions) {
    this.#options = options;
  }

  /** Notices of a session from now on, for one of the agents of this connection. */
  attach(sessionId: string, holder: string): Promise<void> | undefined {
    if (this.#options.connection.push === undefined || this.#closed) return undefined;
    const { agentId } = fromHolder(holder);
    const id = `${sessionId}\n${agentId}`;
    const known = this.#notices.get(id);
    if (known) {
      known.holder = holder;
      return undefined;
    }
    const notices: Notices = { holder, following: this.#followNotices(sessionId, id, agentId) };
    this.#notices.set(id, notices);
    return notices.following.then(
      () => undefined,
      (error: unknown) => {
        this.#notices.delete(id);
        throw error;
      },
    );
  }

  async subscribe(access: Access, filter: EventFilter, after: number) {
    const { store, feeds, access: sessions, limits } = this.#options;
    const { push } = this.#options.connection;
    const subscription_id = this.#unusedId(access.sessionId, filter);
    if (push === undefined) return { subscription_id, cursor: after };
    assertCount('subscriptions_per_connection', this.#subscriptions.size + 1, limits);
    const subscription = new Subscription({
      access,
      subscription_id,
      filter,
      after,
      backlog: limits.backlog_events,
      store,
      sessions,
      push,
      onOver: () => this.#onOver(subscription_id),
    });
    this.#subscriptions.set(subscription_id, subscription);
    try {
      await subscription.start(feeds);
    } catch (error) {
      this.#subscriptions.delete(subscription_id);
      throw error;
    }
    if (this.#closed) subscription.stop();
    return { subscription_id, cursor: after };
  }

  /** One subscription, or all to a session; false when there was none. */
  unsubscribe({ session_id, subscription_id }: WhichSubscriptions): boolean {
    const ended = [...this.#subscriptions.values()].filter((subscription) =>
      subscription_id === undefined
        ? subscription.session_id === session_id
        : subscription.subscription_id === subscription_id,
    );
    for (const subscription of ended) {
      subscription.stop();
      this.#subscriptions.delete(subscription.subscription_id);
    }
    return ended.length > 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const subscription of this.#subscriptions.values()) subscription.stop();
    this.#subscriptions.clear();
    await Promise.all([...this.#notices.keys()].map((id) => this.#detach(id)));
  }

  #onOver(subscription_id: string): void {
    this.unsubscribe({ subscription_id });
    if (this.#subscriptions.size === 0) this.#options.connection.onSubscriptionsOver?.();
  }

  #followNotices(sessionId: string, id: string, agentId: string): Promise<Following> {
    const { store, feeds, access, principalId } = this.#options;
    const caller = { agentId, principalId };
    return feeds.follow(partitionOf.session(sessionId), {
      isFor: isNotice,
      // They are few: who is slow gets them late, as long as the log has them.
      backlog: Number.POSITIVE_INFINITY,
      deliver: (event) => {
        const holder = this.#notices.get(id)?.holder;
        const notice = holder === undefined ? undefined : toNotice(sessionId, event, holder);
        const pushed = this.#push(notice);
        if (!isOver(event, agentId)) return pushed;
        return Promise.resolve(pushed).then(() => this.#detach(id));
      },
      gap: async (cursor) => {
        const isWanted = () => this.#notices.has(id);
        const membership = { store, access, caller, sessionId, isWanted };
        if ((await versionForMember(membership)) === undefined) return await this.#detach(id);
        const missed = { session_id: sessionId, cursor };
        await this.#push(toNotification('session_manager.notices_missed', missed));
      },
    });
  }

  /** Only a second subscription to the same on this connection has a number. */
  #unusedId(sessionId: string, filter: EventFilter): string {
    const id = subscriptionId(sessionId, filter);
    let unused = id;
    for (let n = 2; this.#subscriptions.has(unused); n += 1) unused = `${id}-${n}`;
    return unused;
  }

  async #detach(id: string): Promise<void> {
    const notices = this.#notices.get(id);
    this.#notices.delete(id);
    (await notices?.following.catch(() => undefined))?.stop();
  }

  #push(notification: string | undefined): Promise<void> | void {
    if (notification !== undefined && !this.#closed)
      return this.#options.connection.push?.(notification);
  }
}
