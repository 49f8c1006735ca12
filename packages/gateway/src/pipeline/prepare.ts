// Takes a request of any face to the agents that may serve it, in their order: calls, jobs, messages of A2A
// and `fabric.route.preview` all come through here. Nothing is executed yet.

import type { Clock, GuardedCall, RecursionGuard } from '@starloom/core';
import {
  type Authenticator,
  type DelegateRequest,
  denied,
  type Principal,
} from '@starloom/identity';
import type { Discovery } from '../discovery.ts';
import { toPolicyCall } from './audit-call.ts';
import type { Breakers } from './breakers.ts';
import type { Caller, CallRequest } from './call-request.ts';
import type { Instances } from './instances.ts';
import type { CallLimits } from './limits.ts';
import { type Mandates, META_DELEGATE, readDelegate } from './mandates.ts';
import { admit } from './origin.ts';
import {
  type Access,
  CallAgents,
  type CallableAgents,
  type Route,
  type RouteRequest,
  route,
} from './route.ts';

export interface PrepareDeps extends Access {
  readonly discovery: Discovery;
  readonly breakers: Breakers;
  readonly instances: Instances;
  readonly guard: RecursionGuard;
  readonly limits: CallLimits;
  readonly mandates: Mandates;
  readonly clock: Clock;
}

/** A call that its caller may make: its place in its trace, and who may serve it. */
export interface PreparedCall<Request extends RouteRequest = CallRequest> extends Route {
  /** With the capability as its agent spells it. */
  readonly request: Request;
  readonly caller: Caller;
  readonly guarded: GuardedCall;
  /** What the caller asks the mint for. */
  readonly delegate: DelegateRequest | undefined;
}

interface PrepareTerms {
  /** When it would run; now by default. */
  readonly at?: number | undefined;
  /** How long it waits for agents that have not said yet what they offer; not at all by default. */
  readonly waitMs?: number;
  /** Where the conversation of the call lives: no other instance serves it. */
  readonly nodeId?: string | undefined;
}

/** Refuses calls on connections and in jobs, which were let in some time ago, once their credential ended. */
export function credentialCheck(
  authenticator: Authenticator,
): (caller: Pick<Caller, 'principal' | 'isStored'>) => void {
  return ({ principal, isStored }) => {
    const isRefused = isStored
      ? authenticator.isRevoked?.(principal)
      : !authenticator.isCurrent(principal);
    if (!isRefused) return;
    throw denied('revoked', 'The credential was revoked or has expired', 'send another credential');
  };
}

/**
 * Charges a call to its caller, unless that was done before, and gives it its place in its trace. RATE_LIMITED,
 * RECURSION_LIMIT, or POLICY_DENIED when the budget of the trace is spent.
 */
export function enter(
  caller: Caller,
  { limits, guard, mandates }: PrepareDeps,
  isCharged = false,
): GuardedCall | Promise<GuardedCall> {
  const { principal } = caller;
  if (!isCharged) limits.admit(principal);
  const placed = admit(caller, guard);
  if (isCharged) return placed;
  if (placed instanceof Promise)
    return placed.then((call) => spendBudget(call, principal, mandates));
  return spendBudget(placed, principal, mandates);
}

function spendBudget(
  guarded: GuardedCall,
  principal: Principal,
  mandates: Mandates,
): GuardedCall | Promise<GuardedCall> {
  if (guarded.hop.depth <= 1) return guarded;
  return mandates.spend(guarded, principal)?.then(() => guarded) ?? guarded;
}

/** A promise only where an agent has to be waited for. */
export function prepare<Request extends RouteRequest>(
  request: Request,
  caller: Caller,
  guarded: GuardedCall,
  deps: PrepareDeps,
  terms: PrepareTerms = {},
): PreparedCall<Request> | Promise<PreparedCall<Request>> {
  const { waitMs = 0 } = terms;
  const described = waitMs > 0 ? awaitAgent(request, caller, waitMs, deps) : undefined;
  if (described) return described.then(() => choose(request, caller, guarded, deps, terms));
  return choose(request, caller, guarded, deps, terms);
}

/** The agent that is named has nearly always said what it offers. */
function awaitAgent(
  request: RouteRequest,
  caller: Caller,
  waitMs: number,
  { registry, discovery }: PrepareDeps,
): Promise<void> | undefined {
  const named = request.agent_id === undefined ? undefined : registry.get(request.agent_id);
  if (named && discovery.known.has(named.manifest)) return undefined;
  return discovery.awaitFor(request, caller, waitMs);
}

function choose<Request extends RouteRequest>(
  request: Request,
  caller: Caller,
  guarded: GuardedCall,
  deps: PrepareDeps,
  { at, nodeId }: PrepareTerms,
): PreparedCall<Request> {
  const { instances, guard } = deps;
  const agents = callableAgents(caller, guarded, deps, at);
  const { candidates, skipped } = route(request, guarded, { agents, instances, guard, nodeId });
  const { name } = candidates[0].capability;
  const isDelegated = caller.meta[META_DELEGATE] !== undefined;
  return {
    request: request.capability === name ? request : { ...request, capability: name },
    caller,
    guarded,
    candidates,
    skipped,
    delegate: isDelegated ? readDelegate(caller) : undefined,
  };
}

/** The agents that the caller may see, with what the policy says of this call at each of them. */
export function callableAgents(
  caller: Caller,
  guarded: GuardedCall,
  deps: PrepareDeps,
  at = deps.clock.now(),
): CallableAgents {
  return new CallAgents(caller.principal, deps, toPolicyCall(guarded, caller, at));
}
