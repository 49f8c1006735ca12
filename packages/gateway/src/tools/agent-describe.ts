import { agentIdSchema, FabricError } from '@starloom/core';
import { z } from 'zod';
import type { Discovery } from '../discovery.ts';
import { type Access, type AgentLookup, agentsFor } from '../pipeline/authorise.ts';
import { toAgentView, withSaid } from './agent-view.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

/** How long an agent may take to say what it offers before it is shown as it is known. */
const DESCRIBE_MS = 5_000;

const argumentsSchema = z.strictObject({ agent_id: agentIdSchema.describe('Which agent') });

export function agentDescribeTool(access: Access, discovery: Discovery): Tool {
  return defineTool({
    name: 'fabric.agent.describe',
    title: 'Describe an agent',
    description:
      "Shows one agent's whole manifest, with the input schema of each capability and how the agent says it is used.",
    input: argumentsSchema,
    output: { agent: { type: 'object' } },
    annotations: READ_ONLY,
    async run({ agent_id }, { principal }) {
      const agents = agentsFor(principal, access);
      const named = agents.get(agent_id);
      if (named) await discovery.tryReady(named.manifest, DESCRIBE_MS);
      const record = agents.get(agent_id);
      if (!record) throw unknownAgent(agent_id, agents);
      const missing = discovery.missingOf(record.manifest);
      const agent = withSaid(toAgentView(record), discovery.saidBy(record.manifest));
      return { ok: true, agent: missing.length > 0 ? { ...agent, missing } : agent };
    },
  });
}

function unknownAgent(agentId: string, agents: AgentLookup): FabricError {
  const known = agents.list().map(({ manifest }) => manifest.agent_id);
  return new FabricError('CAPABILITY_NOT_FOUND', `There is no agent "${agentId}"`, {
    details: { reason: 'unknown_agent', agent_id: agentId, known: known.slice(0, 50) },
  });
}
