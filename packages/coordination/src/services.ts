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
import type { ConnectedPrincipal } from './rpc/connection.ts';
import { IdempotentAnswers } from './rpc/idempotency.ts';
import { SessionAccess } from './session/session-access.ts';
import { SessionEnd } from './session/session-end.ts';
import { SessionRights } from './session/session-rights.ts';
import { SessionTimers } from './session/session-timers.ts';
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

export type Services = ReturnType<typeof createServices>;

/** The services, each with what it needs of the others. None has a state that is not the store's. */
export function createServices({
  store,
  clock = systemClock,
  log = silentLog,
  heartbeatIntervalMs = HEARTBEAT_INTERVAL_MS,
  mayUse = () => true,
  ...options
}: CoordinationOptions) {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const feeds = new EventFeeds({ store, log });
  const budgets = new Budgets({ store, clock, limits });
  const timers = new SessionTimers(store, clock);
  const access = new SessionAccess(store, timers);
  const bindings = new Bindings({ store, clock, limits, budgets });
  const presence = new Presence({ store, clock, limits });
  const agents = new AgentRegistry({
    store,
    clock,
    limits,
    budgets,
    bindings,
    presence,
    heartbeatIntervalMs,
  });
  const ending = new SessionEnd({ store, timers, limits, budgets });
  const sessions = new Sessions({
    store,
    clock,
    limits,
    budgets,
    access,
    agents,
    bindings,
    presence,
    timers,
    ending,
  });
  const rights = new SessionRights({ store, limits, access, timers, sessions });
  const history = new ContextHistory({ store, limits, log, budgets });
  const locks = new MemoryLock({ store, clock, limits, access, feeds, budgets });
  const context = new Context({ store, clock, limits, budgets, access, locks, history });
  const principalContexts = new PrincipalContexts({ store, limits, feeds, timers, mayUse });
  const checkpoints = new Checkpoints({
    store,
    clock,
    limits,
    budgets,
    access,
    timers,
    sessions,
    history,
  });
  const cache = new ToolCache({
    store,
    clock,
    limits,
    budgets,
    access,
    agents,
    bindings,
    feeds,
  });
  const buffer = new SharedBuffer({ store, clock, limits, budgets, access });
  const idempotency = new IdempotentAnswers({ store, clock, limits, budgets });
  return {
    store,
    clock,
    log,
    limits,
    budgets,
    heartbeatIntervalMs,
    mayUse,
    feeds,
    timers,
    access,
    bindings,
    presence,
    agents,
    ending,
    sessions,
    rights,
    history,
    locks,
    context,
    principalContexts,
    checkpoints,
    cache,
    buffer,
    idempotency,
  };
}
