import { agentIdSchema, FabricError, type Registry } from '@starloom/core';
import { z } from 'zod';
import type { AgentDescriptions } from '../agent-descriptions.ts';
import { toResult } from '../pipeline/respond.ts';
import { toAgentView } from './agent-view.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

const argumentsSchema = z.strictObject({ agent_id: agentIdSchema.describe('Which agent') });

export function agentDescribeTool(registry: Registry, descriptions: AgentDescriptions): Tool {
  return defineTool({
    name: 'fabric.agent.describe',
    title: 'Describe an agent',
    description: "Shows one agent's whole manifest, with the input schema of each capability.",
    input: argumentsSchema,
    output: { agent: { type: 'object' } },
    annotations: READ_ONLY,
    async run({ agent_id }) {
      const record = registry.get(agent_id);
      if (!record) throw unknownAgent(agent_id, registry);
      const capabilities = await descriptions.capabilitiesOf(record.manifest);
      return toResult({ ok: true, agent: toAgentView(record, capabilities) });
    },
  });
}

function unknownAgent(agentId: string, registry: Registry): FabricError {
  const known = registry.list().map(({ manifest }) => manifest.agent_id);
  return new FabricError('CAPABILITY_NOT_FOUND', `There is no agent "${agentId}"`, {
    details: { reason: 'unknown_agent', agent_id: agentId, known: known.slice(0, 50) },
  });
}
