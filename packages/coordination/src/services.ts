import { type Clock, type Log, silentLog, systemClock } from '@starloom/core';
import { AgentRegistry } from './agent-registry.ts';
import { Bindings } from './agents/bindings.ts';
import { Presence } from './agents/presence.ts';
import { Budgets } from './budgets.ts';
import { Checkpoints } from './context/checkpoints.ts';
import { ContextHistory } from './context/context-history.ts';
import { PrincipalContexts } from './context/principal-contexts.ts';
import { Context } from './context.ts';
import type { CoordinationStore } from './coordination-store.ts';
import { EventFeeds } from './feed/event-feed.ts';
import { MemoryLock } from './memory-lock.ts';
import { type CoordinationLimits, DEFAULT_LIMITS } from './quota/limits.ts';
import { IdempotentAnswers } from './rpc/idempotency.ts';
import type { ConnectedPrincipal } from './rpc/peer.ts';
import { SessionAccess } from './session/session-access.ts';
import { SessionEnd, SessionTimers } from './session/session-end.ts';
import { SessionIndex } from './session/session-index.ts';
import { SessionRights } from './session/session-rights.ts';
import { SessionViews } from './session/session-views.ts';
import { Sessions } from './session.ts';
import { SharedBuffer } from './shared-buffer.ts';
import { ToolCache } from './tool-cache.ts';

export interface CoordinationOptions {
  /** Where everything is; any number of processes may share one. The caller closes it. */
  readonly store: CoordinationStore;
  /** For the times that people read. What expires does so by the store's own time. */
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
  readonly heartbeatIntervalMs?: number | undefined;
  readonly limits?: Partial<CoordinationLimits> | undefined;
  /** Which principals may use coordination; all of them unless it is given. */
  readonly mayUse?: MayUse | undefined;
}

export type MayUse = (principal: ConnectedPrincipal) => boolean;

const HEARTBEAT_INTERVAL_MS = 30_000;

/** The services and what they share. Each takes what it needs of this, and nothing else. */
export interface Services {
  readonly store: CoordinationStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: CoordinationLimits;
  readonly heartbeatIntervalMs: number;
  /** To a principal that may not use coordination, no session exists. */
  readonly mayUse: MayUse;
  readonly feeds: EventFeeds;
  readonly budgets: Budgets;
  readonly timers: SessionTimers;
  readonly sessionIndex: SessionIndex;
  readonly access: SessionAccess;
  readonly bindings: Bindings;
  readonly presence: Presence;
  readonly agents: AgentRegistry;
  readonly ending: SessionEnd;
  readonly sessions: Sessions;
  readonly rights: SessionRights;
  readonly history: ContextHistory;
  readonly locks: MemoryLock;
  readonly context: Context;
  readonly principalContexts: PrincipalContexts;
  readonly views: SessionViews;
  readonly checkpoints: Checkpoints;
  readonly cache: ToolCache;
  readonly buffer: SharedBuffer;
  readonly idempotency: IdempotentAnswers;
}

/** None of the services has a state that is not the store's. */
export function createServices({
  store,
  clock = systemClock,
  log = silentLog,
  heartbeatIntervalMs = HEARTBEAT_INTERVAL_MS,
  mayUse = () => true,
  ...options
}: CoordinationOptions): Services {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const given = { store, clock, log, limits, heartbeatIntervalMs, mayUse };
  const feeds = new EventFeeds(given);
  const budgets = new Budgets(given);
  const timers = new SessionTimers(store, clock);
  const access = new SessionAccess(store, timers);
  const sessionIndex = new SessionIndex(given);
  const base = { ...given, feeds, budgets, timers, access, sessionIndex };
  const bindings = new Bindings(base);
  const presence = new Presence(base);
  const agents = new AgentRegistry({ ...base, bindings, presence });
  const ending = new SessionEnd(base);
  const sessions = new Sessions({ ...base, bindings, presence, agents, ending });
  const history = new ContextHistory(base);
  const locks = new MemoryLock(base);
  return {
    ...base,
    bindings,
    presence,
    agents,
    ending,
    sessions,
    rights: new SessionRights({ ...base, sessions }),
    history,
    locks,
    context: new Context({ ...base, locks, history }),
    principalContexts: new PrincipalContexts(base),
    views: new SessionViews(base),
    checkpoints: new Checkpoints({ ...base, sessions, history }),
    cache: new ToolCache({ ...base, agents, bindings }),
    buffer: new SharedBuffer(base),
    idempotency: new IdempotentAnswers(base),
  };
}
