// Who may serve a call, in the order they will be tried, and why. Nothing is executed here:
// `fabric.route.preview` stops after this step.

import {
  type AgentRecord,
  type Capability,
  capabilitySchema,
  FabricError,
  findCapability,
  findNamed,
  type GuardedCall,
  type HeldCapability,
  type RecursionGuard,
  suggestionFor,
} from '@starloom/core';
import type { Decision } from '@starloom/identity';
import { manifestChanged } from '../pinning/manifest-changed.ts';
import { type CallableAgents, deniedBy } from './authorise.ts';
import type { Breakers } from './breaker.ts';

/** Names that a misspelt one is compared with. */
const MOST_COMPARED = 1_000;

export interface RouteRequest {
  readonly agentId?: string | undefined;
  readonly capability: string;
  readonly stream: boolean;
}

export interface Candidate {
  readonly record: AgentRecord;
  readonly capability: Capability;
  readonly kind: 'primary' | 'fallback' | 'peer';
  /** `offline` ones are tried last, `open-circuit`, `held` and `denied` ones not at all. */
  readonly availability: 'ready' | 'offline' | 'open-circuit' | 'held' | 'denied';
  /** What the policy says of this call at this agent. */
  readonly decision: Decision;
  /** It stands in for an agent that may not serve the caller itself, and answers without streaming. */
  readonly isDegraded?: boolean;
}

export interface Route {
  /** The primary, then fallbacks. */
  readonly candidates: readonly [Candidate, ...Candidate[]];
  readonly skipped: readonly { readonly agent_id: string; readonly reason: string }[];
}

export interface RouteDeps {
  /** The agents that the caller may use. */
  readonly agents: CallableAgents;
  readonly breakers: Breakers;
  readonly guard: RecursionGuard;
}

export function route(request: RouteRequest, call: GuardedCall, deps: RouteDeps): Route {
  const primary = findPrimary(request, call, deps);
  const { agent_id } = primary.manifest;
  const fallbacks = deps.agents.resolveFallbacks(agent_id, request.capability);
  const cycle = cycleOf(primary, request, call, deps);
  if (cycle) deps.guard.refuseCycle(call, cycle);
  const first = toCandidate(primary, primary, request, deps);
  const isDegraded = first.availability === 'denied';
  const candidates: [Candidate, ...Candidate[]] = [first];
  const skipped: Route['skipped'][number][] = [];
  for (const record of fallbacks) {
    const loop = cycleOf(record, request, call, deps);
    const candidate = toCandidate(record, primary, request, deps);
    if (loop)
      skipped.push({ agent_id: record.manifest.agent_id, reason: `cycle: ${loop.join(' → ')}` });
    else if (candidate.decision.effect === 'allow') candidates.push({ ...candidate, isDegraded });
  }
  if (isDegraded && candidates.length === 1) throw noStandIn(first);
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
    const starting = agents.list().filter(({ health }) => health.status === 'starting');
    throw new FabricError('CAPABILITY_NOT_FOUND', `No agent offers "${capability}"`, {
      details: {
        capability,
        ...(starting.length > 0 && { starting: starting.map(({ manifest }) => manifest.agent_id) }),
        fix: nearest(capability, agents.list().flatMap(namesOf)),
      },
    });
  }
  const usable = usableNow(offering, capability, agents);
  const free = usable.filter((record) => !cycleOf(record, request, call, deps));
  const ready = free.find(
    ({ manifest, health }) => health.status !== 'offline' && !breakers.isOpen(manifest.agent_id),
  );
  return ready ?? free[0] ?? usable[0] ?? first;
}

/** Those that the policy allows; else those that others stand in for. */
function usableNow(
  offering: readonly AgentRecord[],
  capability: string,
  agents: CallableAgents,
): readonly AgentRecord[] {
  const decided = offering.map((record) => ({
    record,
    decision: agents.decide(record, capability),
  }));
  for (const wanted of ['allow', 'degrade'] as const) {
    const fitting = decided.filter(({ decision }) => decision.effect === wanted);
    if (fitting.length > 0) return fitting.map(({ record }) => record);
  }
  const [first] = decided;
  if (!first) return [];
  throw deniedBy(first.decision, { agent_id: first.record.manifest.agent_id, capability });
}

function named(agentId: string, capability: string, agents: CallableAgents): AgentRecord {
  const record = agents.get(agentId);
  const isKnown = record && findCapability(record, capability);
  if (record && (isKnown || heldAs(record, capability))) {
    const decision = agents.decide(record, capability);
    if (decision.effect === 'deny') throw deniedBy(decision, { agent_id: agentId, capability });
    if (!isKnown && agents.resolveFallbacks(agentId, capability).length === 0) {
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
      fix: record
        ? nearest(capability, namesOf(record))
        : nearest(
            agentId,
            agents.list().map(({ manifest }) => manifest.agent_id),
          ),
    },
  });
}

/** What was probably meant, of the first names; else where to look. */
function nearest(name: string, names: readonly string[]): string {
  const meant = suggestionFor(name, names.slice(0, MOST_COMPARED));
  return meant ?? 'list the available agents with fabric.agent.list';
}

function namesOf({ capabilities }: AgentRecord): string[] {
  return capabilities.map(({ name }) => name);
}

function toCandidate(
  record: AgentRecord,
  primary: AgentRecord,
  request: RouteRequest,
  { breakers, agents }: RouteDeps,
): Candidate {
  const { manifest, health } = record;
  const held = heldAs(record, request.capability);
  const capability = held
    ? capabilitySchema.parse({ name: held.name })
    : findCapability(record, request.capability);
  if (!capability) throw new FabricError('INTERNAL', 'A candidate without the capability');
  const isPrimary = record === primary;
  const isNamed = primary.manifest.fallbacks.includes(manifest.agent_id);
  const kind = isPrimary ? 'primary' : isNamed ? 'fallback' : 'peer';
  const decision = agents.decide(record, request.capability);
  return { record, capability, kind, decision, availability: availabilityOf() };

  function availabilityOf(): Candidate['availability'] {
    if (decision.effect !== 'allow') return 'denied';
    if (held) return 'held';
    if (breakers.isOpen(manifest.agent_id)) return 'open-circuit';
    return health.status === 'offline' ? 'offline' : 'ready';
  }
}

function noStandIn({ record, capability, decision }: Candidate): FabricError {
  const { agent_id } = record.manifest;
  return deniedBy(
    decision,
    { agent_id, capability: capability.name },
    'sends this call to other agents, and none may serve it',
  );
}

/** What waits for approval under this name; not where this spelling itself is served. */
export function heldAs(record: AgentRecord, capability: string): HeldCapability | undefined {
  const held = findNamed(record.held, capability);
  return held && findCapability(record, capability)?.name !== capability ? held : undefined;
}

function assertNotHeld(records: readonly AgentRecord[], capability: string): void {
  for (const { manifest, held } of records) {
    const found = findNamed(held, capability);
    if (found) throw manifestChanged(manifest.agent_id, found);
  }
}

/** Why a candidate stands where it stands, for people. */
export function reasonOf(
  { record: { manifest, health }, capability, kind, availability, ...candidate }: Candidate,
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
    ...(availability === 'denied' ? [`not for this caller: rule ${candidate.decision.rule}`] : []),
    ...(candidate.isDegraded || (request.stream && !capability.streaming)
      ? ['degraded: does not stream']
      : []),
  ];
  return reasons.join(', ');
}
