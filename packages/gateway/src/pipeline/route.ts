// Who may serve a call, in the order they will be tried, and why. Nothing is executed here:
// `fabric.route.preview` stops after this step.

import {
  type AgentFilter,
  type AgentInstance,
  type AgentRecord,
  type Capability,
  capabilitySchema,
  FabricError,
  findCapability,
  findNamed,
  type GuardedCall,
  type HeldCapability,
  type RecursionGuard,
  type Registry,
} from '@starloom/core';
import type { Authoriser, Decision, PolicyCall, Principal } from '@starloom/identity';
import type { CallRequest } from './call-request.ts';
import { circuitOf, type Instances } from './instances.ts';
import { assertNotHeld, deniedBy, noStandIn, notOffered, notServed } from './no-route.ts';

export type RouteRequest = Pick<CallRequest, 'agent_id' | 'capability' | 'stream'>;

/** One instance of an agent; the first of an agent is the one that was chosen. */
export interface Candidate {
  /** The agent, with the manifest and health of this instance. */
  readonly record: AgentRecord;
  readonly capability: Capability;
  readonly kind: 'primary' | 'fallback' | 'peer';
  /** `offline` ones are tried last, the others but `ready` not at all. */
  readonly availability: 'ready' | 'offline' | 'open-circuit' | 'draining' | 'held' | 'denied';
  /** The name of its circuit breaker. */
  readonly circuit: string;
  /** Where the instance runs and why it is here; empty where there is only one. */
  readonly place: string;
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

interface RouteDeps {
  /** The agents that the caller may use. */
  readonly agents: CallableAgents;
  readonly instances: Instances;
  readonly guard: RecursionGuard;
  /** Where the conversation of the call lives: no other instance serves it. */
  readonly nodeId?: string | undefined;
}

export function route(request: RouteRequest, call: GuardedCall, deps: RouteDeps): Route {
  const primary = findPrimary(request, call, deps);
  const { agent_id } = primary.manifest;
  const fallbacks = deps.agents.resolveFallbacks(agent_id, request.capability);
  const cycle = cycleOf(primary, request, call, deps);
  if (cycle) deps.guard.refuseCycle(call, cycle);
  const [first, ...further] = toCandidates(primary, primary, request, deps);
  const isDegraded = first.availability === 'denied';
  const candidates: [Candidate, ...Candidate[]] = [first, ...further];
  const skipped: Route['skipped'][number][] = [];
  for (const record of fallbacks) {
    const loop = cycleOf(record, request, call, deps);
    const found = toCandidates(record, primary, request, deps);
    if (loop)
      skipped.push({ agent_id: record.manifest.agent_id, reason: `cycle: ${loop.join(' → ')}` });
    else if (found[0].decision.effect === 'allow') {
      candidates.push(...found.map((candidate) => ({ ...candidate, isDegraded })));
    }
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
  const { agent_id, capability } = request;
  const { agents, instances } = deps;
  if (agent_id !== undefined) return findNamedAgent(agent_id, capability, agents);
  const offering = agents.findByCapability(capability);
  const [first] = offering;
  if (!first) throw notOffered(capability, agents);
  const usable = usableNow(offering, capability, agents);
  const free = usable.filter((record) => !cycleOf(record, request, call, deps));
  const ready = free.find((record) => instances.isReady(record));
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

function findNamedAgent(agentId: string, capability: string, agents: CallableAgents): AgentRecord {
  const record = agents.serving(agentId, capability) ?? agents.get(agentId);
  const isKnown = record && findCapability(record, capability);
  if (record && (isKnown || heldAs(record, capability))) {
    const decision = agents.decide(record, capability);
    if (decision.effect === 'deny') throw deniedBy(decision, { agent_id: agentId, capability });
    if (!isKnown && agents.resolveFallbacks(agentId, capability).length === 0) {
      assertNotHeld([record], capability);
    }
    return record;
  }
  throw notServed(agentId, record, capability, agents);
}

/** The instances of an agent that may serve the call, the best first. */
function toCandidates(
  record: AgentRecord,
  primary: AgentRecord,
  request: RouteRequest,
  { instances, agents, nodeId }: RouteDeps,
): [Candidate, ...Candidate[]] {
  const { manifest } = record;
  const held = heldAs(record, request.capability);
  const capability = held
    ? capabilitySchema.parse({ name: held.name })
    : findCapability(record, request.capability);
  if (!capability) throw new FabricError('INTERNAL', 'A candidate without the capability');
  const isPrimary = record === primary;
  const isNamed = primary.manifest.fallbacks.includes(manifest.agent_id);
  const kind = isPrimary ? 'primary' : isNamed ? 'fallback' : 'peer';
  const decision = agents.decide(record, request.capability);
  const common = { record, capability, kind, decision } as const;
  const whole = { ...common, circuit: circuitOf(record, record), place: '' };
  if (decision.effect !== 'allow') return [{ ...whole, availability: 'denied' }];
  if (held) return [{ ...whole, availability: 'held' }];
  const [first, ...others] = instances
    .place(record, isPrimary ? nodeId : undefined)
    .map(({ instance, availability, circuit, place }): Candidate => {
      return { ...common, record: at(record, instance), availability, circuit, place };
    });
  // The node of a conversation may be gone.
  return first ? [first, ...others] : [{ ...whole, availability: 'offline' }];
}

function at(record: AgentRecord, { manifest, health }: AgentInstance): AgentRecord {
  return manifest === record.manifest && health === record.health
    ? record
    : { ...record, manifest, health };
}

/** What waits for approval under this name; not where this spelling itself is served. */
export function heldAs(record: AgentRecord, capability: string): HeldCapability | undefined {
  const held = findNamed(record.held, capability);
  return held && findCapability(record, capability)?.name !== capability ? held : undefined;
}

/** Why a candidate stands where it stands, for people. */
export function reasonOf(candidate: Candidate, primaryId: string, request: RouteRequest): string {
  const { record, kind, availability } = candidate;
  const reasons: string[] = [];
  if (kind === 'fallback') reasons.push(`fallback of ${primaryId}`);
  else if (kind === 'peer')
    reasons.push(`same capability, trust tier ${record.manifest.trust_tier}`);
  else if (request.agent_id === undefined) reasons.push('most trusted agent that is ready');
  else reasons.push('asked for');
  if (candidate.place !== '') reasons.push(candidate.place);
  reasons.push(`health ${record.health.status}`);
  if (availability === 'draining') reasons.push('takes no new calls');
  if (availability === 'open-circuit') reasons.push('circuit open');
  if (availability === 'held') reasons.push('waits for approval');
  if (availability === 'denied')
    reasons.push(`not for this caller: rule ${candidate.decision.rule}`);
  if (candidate.isDegraded || (request.stream && !candidate.capability.streaming))
    reasons.push('degraded: does not stream');
  return reasons.join(', ');
}

// The agents as one caller may see and call them. Everything that looks agents up for a caller looks
// here. What no rule could ever allow it is not seen; what it may see and not call now is refused by
// the rule that says so.

export type AgentLookup = Pick<Registry, 'list' | 'get' | 'findByCapability' | 'resolveFallbacks'>;

export interface CallableAgents extends AgentLookup {
  /** The agent if it serves this and the caller may see that; its other capabilities are not looked at. */
  serving(agentId: string, capability: string): AgentRecord | undefined;
  /** What becomes of this call at an agent that the caller may see. */
  decide(record: AgentRecord, capability: string): Decision;
}

export interface Access {
  readonly registry: Registry;
  readonly authoriser: Authoriser;
}

/** The agents that a caller may see. */
export class VisibleAgents implements AgentLookup {
  protected readonly principal: Principal;
  protected readonly access: Access;

  constructor(principal: Principal, access: Access) {
    this.principal = principal;
    this.access = access;
  }

  list(filter?: AgentFilter): readonly AgentRecord[] {
    return this.access.registry.list(filter).flatMap((record) => this.#visible(record) ?? []);
  }

  get(agentId: string): AgentRecord | undefined {
    const record = this.access.registry.get(agentId);
    return record && this.#visible(record);
  }

  findByCapability(capability: string): readonly AgentRecord[] {
    return this.#serving(this.access.registry.findByCapability(capability), capability);
  }

  resolveFallbacks(agentId: string, capability: string): readonly AgentRecord[] {
    const found = this.access.registry.resolveFallbacks(agentId, capability);
    return found.length === 0 ? found : this.#serving(found, capability);
  }

  #visible(record: AgentRecord): AgentRecord | undefined {
    return visibleTo(this.principal, record, this.access.authoriser);
  }

  #serving(records: readonly AgentRecord[], capability: string): readonly AgentRecord[] {
    const { authoriser } = this.access;
    return records.filter(({ manifest }) =>
      authoriser.maySee(this.principal, manifest, capability),
    );
  }
}

/** The same for one call, which is decided for each agent that could serve it. */
export class CallAgents extends VisibleAgents implements CallableAgents {
  readonly #call: PolicyCall;

  constructor(principal: Principal, access: Access, call: PolicyCall) {
    super(principal, access);
    this.#call = call;
  }

  serving(agentId: string, capability: string): AgentRecord | undefined {
    const { registry, authoriser } = this.access;
    const record = registry.get(agentId);
    if (!record || !findCapability(record, capability)) return undefined;
    const { manifest } = record;
    const isSeen = authoriser.mayReach(this.principal, manifest);
    return isSeen && authoriser.maySee(this.principal, manifest, capability) ? record : undefined;
  }

  decide({ manifest }: AgentRecord, capability: string): Decision {
    return this.access.authoriser.decide(this.principal, manifest, capability, this.#call);
  }
}

/** The agent with what of it the caller may use; `undefined` when that is nothing. */
function visibleTo(
  principal: Principal,
  record: AgentRecord,
  authoriser: Authoriser,
): AgentRecord | undefined {
  const { manifest } = record;
  if (!authoriser.mayReach(principal, manifest)) return undefined;
  const isTheirs = ({ name }: { readonly name: string }) =>
    authoriser.maySee(principal, manifest, name);
  if (record.capabilities.every(isTheirs) && record.held.every(isTheirs)) return record;
  const capabilities = record.capabilities.filter(isTheirs);
  const held = record.held.filter(isTheirs);
  return capabilities.length + held.length === 0 ? undefined : { ...record, capabilities, held };
}
