// What one connection receives without asking again: its subscriptions, and the notices of the
// sessions its agents are in. It all ends with the connection, with the session, or when the agent
// is no longer a member.

import { fromHolder } from '../agents/caller.ts';
import type { EventFilter } from '../context/context-event.ts';
import type { Following } from '../feed/event-feed.ts';
import { partitionOf } from '../partitions.ts';
import { assertCount } from '../quota/limits.ts';
import type { Services } from '../services.ts';
import type { Access } from '../session/session-access.ts';
import { inBatches } from '../support/in-batches.ts';
import type { RpcConnection } from './peer.ts';
import { isNotice, isOver, toNotice, toNotification } from './push-messages.ts';
import { Subscription, subscriptionId, versionForMember } from './subscription.ts';

type PeerFeedsOptions = Pick<Services, 'store' | 'access' | 'feeds' | 'limits' | 'budgets'>;

interface WhichSubscriptions {
  readonly session_id?: string | undefined;
  readonly subscription_id?: string | undefined;
}

/** Of one session, sent once however many agents of this connection are in it. */
interface Notices {
  /** The agents, each with its name in the locks under its present epoch. */
  readonly holders: Map<string, string>;
  readonly following: Promise<Following>;
}

export class PeerFeeds {
  readonly #options: PeerFeedsOptions;
  readonly #connection: RpcConnection;
  readonly #subscriptions = new Map<string, Subscription>();
  /** By session. */
  readonly #notices = new Map<string, Notices>();
  #closed = false;

  constructor(options: PeerFeedsOptions, connection: RpcConnection) {
    this.#options = options;
    this.#connection = connection;
  }

  /** Notices of a session from now on, for one of the agents of this connection. */
  attach(sessionId: string, holder: string): Promise<void> | undefined {
    if (this.#connection.push === undefined || this.#closed) return undefined;
    const { agentId } = fromHolder(holder);
    const notices = this.#notices.get(sessionId) ?? this.#openNotices(sessionId);
    const isKnown = notices.holders.has(agentId);
    notices.holders.set(agentId, holder);
    return isKnown ? undefined : notices.following.then(() => undefined);
  }

  async subscribe(access: Access, filter: EventFilter, after: number) {
    const { store, feeds, access: sessions, limits, budgets } = this.#options;
    const { push, principal } = this.#connection;
    const subscription_id = this.#unusedId(access.sessionId, filter);
    if (push === undefined) return { subscription_id, cursor: after };
    assertCount('subscriptions_per_connection', this.#subscriptions.size + 1, limits);
    const counted = budgets.run(principal.id, 'subscriptions_per_principal');
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
      counted,
    });
    this.#subscriptions.set(subscription_id, subscription);
    try {
      await subscription.start(feeds);
    } catch (error) {
      subscription.stop();
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
    await Promise.all([...this.#notices].map((entry) => this.#endNotices(...entry)));
  }

  #onOver(subscription_id: string): void {
    this.unsubscribe({ subscription_id });
    if (this.#subscriptions.size === 0) this.#connection.onSubscriptionsOver?.();
  }

  #openNotices(sessionId: string): Notices {
    const holders: Notices['holders'] = new Map();
    const following = this.#options.feeds.follow(partitionOf.session(sessionId), {
      isFor: isNotice,
      // Notices are few: a slow client gets them late, as long as the log has them.
      backlog: Number.POSITIVE_INFINITY,
      deliver: (event) => {
        const pushed = this.#push(toNotice(sessionId, event, [...holders.values()]));
        const gone = [...holders.keys()].filter((agentId) => isOver(event, agentId));
        if (gone.length === 0) return pushed;
        return Promise.resolve(pushed).then(() => this.#detach(sessionId, notices, gone));
      },
      gap: async (cursor) => {
        await this.#detach(sessionId, notices, await this.#strangers(sessionId, holders));
        const missed = { session_id: sessionId, cursor };
        if (holders.size > 0)
          await this.#push(toNotification('session_manager.notices_missed', missed));
      },
    });
    const notices = { holders, following };
    this.#notices.set(sessionId, notices);
    following.catch(() => void this.#endNotices(sessionId, notices));
    return notices;
  }

  /** Those of the agents that are members no longer. */
  async #strangers(sessionId: string, holders: Notices['holders']): Promise<readonly string[]> {
    const { store, access } = this.#options;
    const { id: principalId } = this.#connection.principal;
    const found = await inBatches([...holders.keys()], async (agentId) => {
      const caller = { agentId, principalId };
      const isWanted = () => holders.has(agentId);
      const membership = { store, access, caller, sessionId, isWanted };
      return (await versionForMember(membership)) === undefined ? [agentId] : [];
    });
    return found.flat();
  }

  /** Only a second subscription to the same on this connection has a number. */
  #unusedId(sessionId: string, filter: EventFilter): string {
    const id = subscriptionId(sessionId, filter);
    let unused = id;
    for (let n = 2; this.#subscriptions.has(unused); n += 1) unused = `${id}-${n}`;
    return unused;
  }

  /** These agents receive nothing more of the session. */
  async #detach(sessionId: string, notices: Notices, agentIds: readonly string[]): Promise<void> {
    for (const agentId of agentIds) notices.holders.delete(agentId);
    if (notices.holders.size === 0) await this.#endNotices(sessionId, notices);
  }

  async #endNotices(sessionId: string, notices: Notices): Promise<void> {
    notices.holders.clear();
    if (this.#notices.get(sessionId) === notices) this.#notices.delete(sessionId);
    (await notices.following.catch(() => undefined))?.stop();
  }

  #push(notification: string | undefined): Promise<void> | void {
    if (notification !== undefined && !this.#closed) return this.#connection.push?.(notification);
  }
}
