import { HEALTH_STATES, TRUST_TIERS } from '@starloom/core';
import { z } from 'zod';
import { type Access, agentsFor } from '../pipeline/authorise.ts';
import { toAgentView, toSummary } from './agent-view.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

const argumentsSchema = z.strictObject({
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
    input: argumentsSchema,
    output: { agents: { type: 'array' }, count: { type: 'integer' } },
    annotations: READ_ONLY,
    run(filter, { principal }) {
      const agents = agentsFor(principal, access)
        .list(filter)
        .map((record) => toAgentView(record, record.capabilities.map(toSummary)));
      return { ok: true, agents, count: agents.length };
    },
  });
}
