// Why no agent may serve a call, with what the caller can do about it.

import { type AgentRecord, FabricError, findNamed, suggestionFor } from '@starloom/core';
import type { Decision } from '@starloom/identity';
import { manifestChanged } from '../pinning/review.ts';
import { failure } from '../reasons.ts';
import type { AgentLookup, Candidate } from './route.ts';

/** Names that a misspelt one is compared with. */
const MAX_COMPARED = 1_000;

/** No agent that the caller may see offers the capability. */
export function notOffered(capability: string, agents: AgentLookup): FabricError {
  const all = agents.list();
  assertNotHeld(all, capability);
  const starting = all.filter(({ health }) => health.status === 'starting');
  return failure('not_offered', {
    capability,
    ...(starting.length > 0 && { starting: starting.map(({ manifest }) => manifest.agent_id) }),
    fix: nearest(capability, all.flatMap(namesOf)),
  });
}

/** The agent that was asked for does not offer the capability, or is none. */
export function notServed(
  agent_id: string,
  record: AgentRecord | undefined,
  capability: string,
  agents: AgentLookup,
): FabricError {
  const offering = agents.findByCapability(capability);
  const offered_by = offering.map(({ manifest }) => manifest.agent_id);
  const asked = { agent_id, capability, offered_by };
  if (record) {
    const offers = namesOf(record);
    return failure('unknown_capability', { ...asked, offers, fix: nearest(capability, offers) });
  }
  const known = agents.list().map(({ manifest }) => manifest.agent_id);
  return failure('unknown_agent', { ...asked, fix: nearest(agent_id, known) });
}

/** What was probably meant, of the first names; else where to look. */
function nearest(name: string, names: readonly string[]): string {
  const meant = suggestionFor(name, names.slice(0, MAX_COMPARED));
  return meant ?? 'list the available agents with fabric.agent.list';
}

function namesOf({ capabilities }: AgentRecord): string[] {
  return capabilities.map(({ name }) => name);
}

/** MANIFEST_CHANGED when it waits for approval at one of them. */
export function assertNotHeld(records: readonly AgentRecord[], capability: string): void {
  for (const { manifest, held } of records) {
    const found = findNamed(held, capability);
    if (found) throw manifestChanged(manifest.agent_id, found);
  }
}

/** The policy sends the call to others, and there are none. */
export function noStandIn({ record, capability, decision }: Candidate): FabricError {
  const { agent_id } = record.manifest;
  return deniedBy(
    decision,
    { agent_id, capability: capability.name },
    'sends this call to other agents, and none may serve it',
  );
}

/** A refusal by a rule, for a caller that may know of the agent. */
export function deniedBy(
  { rule, reason }: Decision,
  target: { readonly agent_id: string; readonly capability: string },
  why = 'does not allow this call',
): FabricError {
  const because = reason === undefined ? '' : `: ${reason}`;
  return new FabricError('POLICY_DENIED', `The policy rule "${rule}" ${why}${because}`, {
    details: {
      reason: 'policy',
      rule,
      ...target,
      sent: false,
      fix: 'ask the operator of the gateway, who can change the rule',
    },
  });
}
