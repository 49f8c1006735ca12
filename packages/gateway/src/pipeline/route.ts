// Who may serve a call, in the order they will be tried, and why. Nothing is executed here:
// `fabric.route.preview` stops after this step.

import {
  type AgentRecord,
  type Capability,
  capabilitySchema,
  FabricError,
  findCapability,
  type GuardedCall,
  type RecursionGuard,
} from '@starloom/core';
import { manifestChanged } from '../pinning/manifest-changed.ts';
import type { AgentLookup } from './authorise.ts';
import type { Breakers } from './breaker.ts';

export interface RouteRequest {
  readonly agentId?: string | undefined;
  readonly capability: string;
  readonly stream: boolean;
}

export interface Candidate {
  readonly record: AgentRecord;
  readonly capability: Capability;
  readonly kind: 'primary' | 'fallback' | 'peer';
  /** `offline` ones are tried last, `open-circuit` and `held` ones not at all. */
  readonly availability: 'ready' | 'offline' | 'open-circuit' | 'held';
}

export interface Route {
  /** The primary, then fallbacks. */
  readonly candidates: readonly [Candidate, ...Candidate[]];
  readonly skipped: readonly { readonly agent_id: string; readonly reason: string }[];
}

export interface RouteDeps {
  /** The agents that the caller may use. */
  readonly agents: AgentLookup;
  readonly breakers: Breakers;
  readonly guard: RecursionGuard;
}

export function route(request: RouteRequest, call: GuardedCall, deps: RouteDeps): Route {
  const primary = findPrimary(request, call, deps);
  const { agent_id } = primary.manifest;
  const fallbacks = deps.agents.resolveFallbacks(agent_id, request.capability);
  const cycle = cycleOf(primary, request, call, deps);
  if (cycle) deps.guard.refuseCycle(call, cycle);
  const candidates: [Candidate, ...Candidate[]] = [toCandidate(primary, primary, request, deps)];
  const skipped: Route['skipped'][number][] = [];
  for (const record of fallbacks) {
    const loop = cycleOf(record, request, call, deps);
    if (!loop) candidates.push(toCandidate(record, primary, request, deps));
    else skipped.push({ agent_id: record.manifest.agent_id, reason: `cycle: ${loop.join(' → ')}` });
  }
  return { candidates, skipped };
}

/** The loop that this agent would close, unless its capability may be entered again. */
function cycleOf(
  record: AgentRecord,
  { capability }: RouteRequest,
  { hop }: GuardedCall,
  { guard }: RouteDeps,
): string[] | undefined {
  if (findCapability(record, capability)?.reentrant) return undefined;
  return guard.findCycle(hop, record.manifest.agent_id, capability);
}

/** The agent asked for, or the best one that offers the capability and closes no cycle. */
function findPrimary(request: RouteRequest, call: GuardedCall, deps: RouteDeps): AgentRecord {
  const { agentId, capability } = request;
  const { agents, breakers } = deps;
  if (agentId !== undefined) return named(agentId, capability, agents);
  const offering = agents.findByCapability(capability);
  const [first] = offering;
  if (!first) {
    assertNotHeld(agents.list(), capability);
    throw new FabricError('CAPABILITY_NOT_FOUND', `No agent offers "${capability}"`, {
      details: { capability, fix: 'call fabric.agent.list for the available agents' },
    });
  }
  const free = offering.filter((record) => !cycleOf(record, request, call, deps));
  const ready = free.find(
    ({ manifest, health }) => health.status !== 'offline' && !breakers.isOpen(manifest.agent_id),
  );
  return ready ?? free[0] ?? first;
}

function named(agentId: string, capability: string, agents: AgentLookup): AgentRecord {
  const record = agents.get(agentId);
  if (record && findCapability(record, capability)) return record;
  if (record && isHeld(record, capability)) {
    if (agents.resolveFallbacks(agentId, capability).length === 0) {
      assertNotHeld([record], capability);
    }
    return record;
  }
  const offering = agents.findByCapability(capability);
  const offered_by = offering.map(({ manifest }) => manifest.agent_id);
  const message = record
    ? `Agent "${agentId}" does not offer "${capability}"`
    : `There is no agent "${agentId}"`;
  throw new FabricError('CAPABILITY_NOT_FOUND', message, {
    details: {
      reason: record ? 'unknown_capability' : 'unknown_agent',
      agent_id: agentId,
      capability,
      offered_by,
      ...(record && { offers: record.capabilities.map(({ name }) => name) }),
      fix: 'call fabric.agent.list for the available agents',
    },
  });
}

function toCandidate(
  record: AgentRecord,
  primary: AgentRecord,
  request: RouteRequest,
  { breakers }: RouteDeps,
): Candidate {
  const { manifest, health } = record;
  const held = isHeld(record, request.capability);
  const capability = held
    ? capabilitySchema.parse({ name: request.capability })
    : findCapability(record, request.capability);
  if (!capability) throw new FabricError('INTERNAL', 'A candidate without the capability');
  const isPrimary = record === primary;
  const isNamed = primary.manifest.fallbacks.includes(manifest.agent_id);
  const kind = isPrimary ? 'primary' : isNamed ? 'fallback' : 'peer';
  const availability = held
    ? 'held'
    : breakers.isOpen(manifest.agent_id)
      ? 'open-circuit'
      : health.status === 'offline'
        ? 'offline'
        : 'ready';
  return { record, capability, kind, availability };
}

function isHeld({ held }: AgentRecord, capability: string): boolean {
  return held.some(({ name }) => name === capability);
}

function assertNotHeld(records: readonly AgentRecord[], capability: string): void {
  for (const { manifest, held } of records) {
    const found = held.find(({ name }) => name === capability);
    if (found) throw manifestChanged(manifest.agent_id, found);
  }
}

/** Why a candidate stands where it stands, for people. */
export function reasonOf(
  { record: { manifest, health }, capability, kind, availability }: Candidate,
  primaryId: string,
  request: RouteRequest,
): string {
  const reasons = [
    {
      primary: request.agentId === undefined ? 'most trusted agent that is ready' : 'asked for',
      fallback: `fallback of ${primaryId}`,
      peer: `same capability, trust tier ${manifest.trust_tier}`,
    }[kind],
    `health ${health.status}`,
    ...(availability === 'open-circuit' ? ['circuit open'] : []),
    ...(availability === 'held' ? ['waits for approval'] : []),
    ...(request.stream && !capability.streaming ? ['degraded: does not stream'] : []),
  ];
  return reasons.join(', ');
}
