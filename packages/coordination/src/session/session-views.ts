// Sessions as people look at them, from outside: nothing is joined, touched or kept alive by looking. With a
// principal only the sessions that its agents are in; others are absent. Without one, all.

import type { Json } from '@starloom/core';
import { fromHolder } from '../agents/caller.ts';
import {
  type ContextEvent,
  contextEventSchema,
  isContextUpdate,
} from '../context/context-event.ts';
import { toView, valuesOf } from '../context/context-operations.ts';
import type { Snapshot } from '../coordination-store.ts';
import type { Following } from '../feed/event-feed.ts';
import { idsIn, keyOf, partitionOf, SESSIONS } from '../partitions.ts';
import type { Services } from '../services.ts';
import { inBatches } from '../support/in-batches.ts';
import { type Member, membersIn, metaIn, type SessionMeta, sessionFor } from './session-record.ts';

export interface SessionView {
  readonly session: SessionMeta;
  readonly members: readonly Member[];
  readonly locks: readonly SessionLock[];
  readonly context: Readonly<Record<string, Json>>;
  /** Of the context. */
  readonly version: number;
}

export interface SessionLock {
  readonly resource: string;
  readonly mode: string;
  readonly agentId: string;
  readonly token: number;
  readonly expiresAt: number;
  /** The agents that wait for it, in their order. */
  readonly waiting: readonly string[];
}

export interface ContextChange {
  readonly version: number;
  readonly at: number;
  readonly event: ContextEvent;
}

type SessionViewsOptions = Pick<Services, 'store' | 'limits' | 'feeds' | 'sessionIndex'>;

/** Events that are read at once, from the end of a log to its beginning. */
const WINDOW = 500;

export class SessionViews {
  readonly #options: SessionViewsOptions;

  constructor(options: SessionViewsOptions) {
    this.#options = options;
  }

  async ids(principalId: string | undefined): Promise<readonly string[]> {
    const { store, sessionIndex } = this.#options;
    if (principalId !== undefined) return [...(await sessionIndex.ofPrincipal(principalId)).keys()];
    return idsIn(await store.read(SESSIONS), keyOf.openSession(''));
  }

  /** Newest first, at most so many. */
  async list(principalId: string | undefined, limit: number): Promise<readonly SessionView[]> {
    const ids = (await this.ids(principalId)).slice(0, limit);
    const found = await inBatches(ids, (id) => this.read(id, principalId));
    return found
      .filter((view) => view !== undefined)
      .sort((one, other) => other.session.created_at - one.session.created_at);
  }

  async read(sessionId: string, principalId: string | undefined): Promise<SessionView | undefined> {
    const { store } = this.#options;
    const partition = partitionOf.session(sessionId);
    const snapshot = await store.read(partition);
    const session = visibleTo(snapshot, principalId);
    if (!session) return undefined;
    const [leases, waiting] = await Promise.all([
      store.leases(partition),
      store.waiting(partition),
    ]);
    const context = toView(snapshot);
    return {
      session,
      members: membersIn(snapshot),
      locks: leases.map(({ resource, mode, holder, token, expiresAt }) => ({
        resource,
        mode,
        agentId: fromHolder(holder).agentId,
        token,
        expiresAt,
        waiting: waiting
          .filter((place) => place.resource === resource)
          .map((place) => fromHolder(place.holder).agentId),
      })),
      context: valuesOf(context),
      version: context.version,
    };
  }

  /** Updates of the context before a version, the newest first; `next` is where older ones go on. */
  async history(
    sessionId: string,
    principalId: string | undefined,
    { before, limit }: { readonly before?: number | undefined; readonly limit: number },
  ): Promise<{ readonly changes: readonly ContextChange[]; readonly next?: number } | undefined> {
    const { store } = this.#options;
    const partition = partitionOf.session(sessionId);
    const snapshot = await store.read(partition);
    if (!visibleTo(snapshot, principalId)) return undefined;
    const changes: ContextChange[] = [];
    for (let top = Math.min(before ?? Infinity, snapshot.version + 1); top > 1; ) {
      const after = Math.max(0, top - 1 - WINDOW);
      const page = await store.events(partition, after, WINDOW);
      const updates = page.events.filter((each) => each.version < top && isContextUpdate(each));
      for (const { version, at, event } of updates.reverse()) {
        if (changes.length === limit) return { changes, next: changes.at(-1)?.version ?? top };
        changes.push({ version, at, event: contextEventSchema.parse(event) });
      }
      if (page.gap) break;
      top = after + 1;
    }
    return { changes };
  }

  follow(sessionId: string, onEvent: () => void): Promise<Following> {
    const { feeds, limits } = this.#options;
    return feeds.follow(partitionOf.session(sessionId), {
      backlog: limits.backlog_events,
      deliver: onEvent,
      gap: onEvent,
    });
  }
}

function visibleTo(snapshot: Snapshot, principalId: string | undefined): SessionMeta | undefined {
  if (principalId !== undefined) return sessionFor(snapshot, principalId)?.session;
  const meta = metaIn(snapshot);
  return meta?.state === 'ended' ? undefined : meta;
}
