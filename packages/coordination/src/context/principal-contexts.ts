// What a principal sees of the sessions that its agents are in, for faces that know principals but
// no agents: it reads while any agent of its is a member, alive or not. An unknown session and one
// that is not its own are both absent.

import type { Following } from '../feed/event-feed.ts';
import { fieldsOf } from '../feed/log-event.ts';
import { keyOf, META, partitionOf } from '../partitions.ts';
import type { ConnectedPrincipal } from '../rpc/peer.ts';
import type { Services } from '../services.ts';
import { readWithMembers, type SessionMeta, sessionFor } from '../session/session-record.ts';
import { inBatches } from '../support/in-batches.ts';
import { CONTEXT_UPDATE } from './context-event.ts';
import { toContext, toView } from './context-operations.ts';

type PrincipalContextsOptions = Pick<
  Services,
  'store' | 'limits' | 'feeds' | 'timers' | 'mayUse' | 'sessionIndex'
>;

export interface ContextWatcher {
  /** The context changed, or may have. */
  readonly updated: () => void;
  /** The session or a membership ended, or may have: the watcher receives nothing more. */
  readonly over: () => void;
}

export class PrincipalContexts {
  readonly #options: PrincipalContextsOptions;

  constructor(options: PrincipalContextsOptions) {
    this.#options = options;
  }

  mayUse(principal: ConnectedPrincipal): boolean {
    return this.#options.mayUse(principal);
  }

  /** Last joined first, at most so many. */
  async list(principal: ConnectedPrincipal, limit: number): Promise<readonly SessionMeta[]> {
    const { store, sessionIndex } = this.#options;
    const { id: principalId } = principal;
    if (!this.mayUse(principal)) return [];
    const sessions = [...(await sessionIndex.ofPrincipal(principalId))].slice(0, limit);
    const found = await inBatches(sessions, async ([sessionId, agentIds]) => {
      const keys = [META, ...agentIds.map(keyOf.member)];
      const snapshot = await store.read(partitionOf.session(sessionId), keys);
      return sessionFor(snapshot, principalId)?.session ?? [];
    });
    return found.flat();
  }

  async read(principal: ConnectedPrincipal, sessionId: string) {
    const { store, timers } = this.#options;
    if (!this.mayUse(principal)) return undefined;
    const snapshot = await store.read(partitionOf.session(sessionId));
    const session = sessionFor(snapshot, principal.id)?.session;
    if (session === undefined) return undefined;
    if (session.state === 'active') await timers.touch(session);
    return { session, ...toContext(toView(snapshot)), cursor: snapshot.version };
  }

  /** From now on; `undefined` when there is no such session for the principal. */
  async follow(
    principal: ConnectedPrincipal,
    sessionId: string,
    { updated, over }: ContextWatcher,
  ): Promise<Following | undefined> {
    const { store, feeds, limits } = this.#options;
    if (!this.mayUse(principal)) return undefined;
    const partition = partitionOf.session(sessionId);
    const snapshot = await readWithMembers(store, partition, [META]);
    const own = sessionFor(snapshot, principal.id);
    if (own === undefined) return undefined;
    let isOver = false;
    const end = () => {
      if (!isOver) over();
      isOver = true;
    };
    return await feeds.follow(partition, {
      after: snapshot.version,
      backlog: limits.backlog_events,
      deliver: ({ event }) => {
        const { type, agent_id } = fieldsOf(event);
        if (type === CONTEXT_UPDATE && !isOver) updated();
        const hasLeft = type === 'session.agent_left' && own.agentIds.has(String(agent_id));
        if (hasLeft || type === 'session.ended') end();
      },
      gap: end,
    });
  }

  /** Calls back when a session of the principal began or ended for it. */
  async followList(principal: ConnectedPrincipal, onChange: () => void): Promise<Following> {
    const { feeds, limits } = this.#options;
    if (!this.mayUse(principal)) return { cursor: 0, stop: () => {} };
    return await feeds.follow(partitionOf.principal(principal.id), {
      backlog: limits.backlog_events,
      deliver: onChange,
      gap: onChange,
    });
  }
}
