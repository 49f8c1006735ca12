import {
  type AgentDescription,
  type AgentInstance,
  type AgentRecord,
  agentIdSchema,
  type Capability,
  type Endpoint,
  HEALTH_STATES,
  TRUST_TIERS,
  UNKNOWN_VERSION,
} from '@starloom/core';
import { z } from 'zod';
import type { Discovery } from '../discovery.ts';
import { instancesOf } from '../pipeline/instances.ts';
import { type Access, VisibleAgents } from '../pipeline/route.ts';
import { failure } from '../reasons.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

const listSchema = z.strictObject({
  capability: z.string().optional().describe('Only agents that offer it'),
  tag: z.string().optional().describe('Only agents with this tag'),
  tier: z.enum(TRUST_TIERS).optional().describe('Only agents of this trust tier'),
  status: z.enum(HEALTH_STATES).optional().describe('Only agents in this state'),
  modality: z.string().optional().describe('Only agents that handle it, such as "image"'),
});

export function agentListTool(access: Access): Tool {
  return defineTool({
    name: 'fabric.agent.list',
    title: 'List agents',
    description: 'Lists the agents of the fabric with their capabilities, trust tier and health.',
    input: listSchema,
    output: { agents: { type: 'array' }, count: { type: 'integer' } },
    annotations: READ_ONLY,
    run(filter, { principal }) {
      const agents = new VisibleAgents(principal, access)
        .list(filter)
        .map((record) => toAgentView(record, record.capabilities.map(toSummary)));
      return { ok: true, agents, count: agents.length };
    },
  });
}

/** How long an agent may take to say what it offers before it is shown as it is known. */
const DESCRIBE_MS = 5_000;

const describeSchema = z.strictObject({ agent_id: agentIdSchema.describe('Which agent') });

export function agentDescribeTool(access: Access, discovery: Discovery): Tool {
  return defineTool({
    name: 'fabric.agent.describe',
    title: 'Describe an agent',
    description:
      "Shows one agent's whole manifest, with the input schema of each capability and how the agent says it is used.",
    input: describeSchema,
    output: { agent: { type: 'object' } },
    annotations: READ_ONLY,
    async run({ agent_id }, { principal }) {
      const agents = new VisibleAgents(principal, access);
      const named = agents.get(agent_id);
      if (named) await discovery.tryReady(named.manifest, DESCRIBE_MS);
      const record = agents.get(agent_id);
      if (!record) {
        const known = agents.list().map(({ manifest }) => manifest.agent_id);
        throw failure('unknown_agent', { agent_id, known: known.slice(0, 50) });
      }
      const missing = discovery.missingOf(record.manifest);
      const agent = withSaid(toAgentView(record), discovery.saidBy(record.manifest));
      return { ok: true, agent: missing.length > 0 ? { ...agent, missing } : agent };
    },
  });
}

/** An agent as callers see it: its manifest without what could hold secrets, and its health. */
function toAgentView(record: AgentRecord, capabilities: readonly object[] = record.capabilities) {
  const { manifest, health, held } = record;
  const endpoint = toPublicEndpoint(manifest.endpoint);
  const instances = toInstanceViews(
    record,
    ({ manifest: { version, endpoint, region, weight } }) => ({
      version,
      endpoint: toPublicEndpoint(endpoint),
      ...(region !== undefined && { region }),
      ...(weight !== undefined && { weight }),
    }),
  );
  return { ...manifest, endpoint, capabilities, ...toHeldView(held), health, ...instances };
}

/** Where the agent runs, when that is more than one place or comes and goes. */
export function toInstanceViews(
  record: AgentRecord,
  more: (instance: AgentInstance) => object,
): { readonly instances?: readonly object[] } {
  const instances = instancesOf(record);
  if (instances.length === 1 && instances[0]?.epoch === undefined) return {};
  return {
    instances: instances.map((instance) => {
      const { manifest, state, epoch, hold, health } = instance;
      const { node_id } = manifest;
      return {
        node_id,
        state,
        ...(epoch !== undefined && { epoch }),
        ...health,
        ...(hold && { hold }),
        ...more(instance),
      };
    }),
  };
}

/** What waits for approval, without a word that the agent wrote about it. */
export function toHeldView(held: AgentRecord['held']) {
  return held.length > 0 ? { held } : {};
}

/** A capability without its schemas, icons and the like, for lists. */
function toSummary(capability: Capability) {
  const { input_schema: _, output_schema: __, mcp: ___, ...summary } = capability;
  return summary;
}

/** With what the agent says of itself where its manifest does not say it. */
function withSaid(
  agent: ReturnType<typeof toAgentView>,
  { version, description, instructions }: Omit<AgentDescription, 'capabilities'>,
) {
  return {
    ...agent,
    ...(version !== undefined && agent.version === UNKNOWN_VERSION && { version }),
    ...(description !== undefined && agent.description === undefined && { description }),
    ...(instructions !== undefined && { instructions }),
  };
}

export function toPublicEndpoint({ transport, protocol, uri, command }: Endpoint) {
  return {
    transport,
    ...(protocol && { protocol }),
    ...(uri && { uri: withoutCredentials(uri) }),
    ...(command && { command }),
  };
}

function withoutCredentials(uri: string): string {
  const url = new URL(uri);
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}
