import { agentIdSchema, MAX_LEASE_MS, nodeIdSchema } from '@starloom/core';
import { isMandated, isRegistryOperator, mayRegisterSome } from '@starloom/identity';
import { z } from 'zod';
import { type Access, VisibleAgents } from '../pipeline/route.ts';
import type { Registrations } from '../registrations.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

const WRITES = { readOnlyHint: false, destructiveHint: false, openWorldHint: false };

const instance = {
  agent_id: agentIdSchema.describe('Which agent'),
  node_id: nodeIdSchema.default('local').describe('On which node'),
  epoch: z.int().describe('Of its registration'),
};

/** `fabric.agent.register` and what follows it: for agents that come and go by themselves. */
export function registrationTools(registrations: Registrations, access: Access): readonly Tool[] {
  const tools = [
    defineTool({
      name: 'fabric.agent.register',
      title: 'Register an agent',
      description:
        'Adds an instance of an agent for as long as it sends heartbeats. An earlier registration of the same node ends.',
      input: z.strictObject({
        manifest: z.record(z.string(), z.unknown()).describe('As an entry of agents.yaml'),
        lease_ms: z
          .int()
          .min(0)
          .max(MAX_LEASE_MS)
          .optional()
          .describe('How long it is there without a heartbeat; 0, for operators: until removed'),
        if_revision: z
          .int()
          .min(0)
          .optional()
          .describe('Refused unless the instance is at this revision; 0: unless it is new'),
      }),
      output: {
        agent_id: { type: 'string' },
        node_id: { type: 'string' },
        epoch: { type: 'integer' },
        lease_ms: { type: 'integer' },
        revision: { type: 'integer' },
      },
      annotations: WRITES,
      async run({ manifest, lease_ms: leaseMs, if_revision: ifRevision }, { principal }) {
        const request = { manifest, leaseMs, ifRevision };
        return { ok: true, ...(await registrations.register(principal, request)) };
      },
    }),
    defineTool({
      name: 'fabric.agent.heartbeat',
      title: 'Renew the lease of an agent',
      description:
        'Says that an instance is still there. With status "draining" it takes no new calls.',
      input: z.strictObject({
        ...instance,
        status: z.enum(['active', 'draining']).optional().describe('What it does now'),
      }),
      output: { next_before: { type: 'integer' } },
      annotations: { ...WRITES, idempotentHint: true },
      async run({ status, ...key }, { principal }) {
        if (status === 'draining') await registrations.drain(principal, key);
        return { ok: true, next_before: await registrations.renew(principal, key) };
      },
    }),
    defineTool({
      name: 'fabric.agent.drain',
      title: 'Drain an agent',
      description: 'New calls go to other instances; calls in flight and the lease go on.',
      input: z.strictObject(instance),
      output: {},
      annotations: { ...WRITES, idempotentHint: true },
      async run(key, { principal }) {
        await registrations.drain(principal, key);
        return { ok: true };
      },
    }),
    defineTool({
      name: 'fabric.agent.leave',
      title: 'End the registration of an agent',
      description: 'Removes an instance, and with the last one its agent.',
      input: z.strictObject(instance),
      output: {},
      annotations: { ...WRITES, destructiveHint: true },
      async run(key, { principal }) {
        await registrations.leave(principal, key);
        return { ok: true };
      },
    }),
  ].map((tool) => forRegistrants(tool));
  return [...tools, removeTool(registrations), historyTool(registrations, access)];
}

function removeTool(registrations: Registrations): Tool {
  const tool = defineTool({
    name: 'fabric.agent.remove',
    title: 'Remove an agent',
    description:
      'For operators: removes an agent, which may not register itself again, or one of its instances.',
    input: z.strictObject({
      agent_id: agentIdSchema.describe('Which agent'),
      node_id: nodeIdSchema.optional().describe('Only the instance on this node'),
    }),
    output: { removed: { type: 'boolean' } },
    annotations: { ...WRITES, destructiveHint: true, idempotentHint: true },
    async run({ agent_id, node_id }, { principal }) {
      return { ok: true, removed: await registrations.remove(principal, agent_id, node_id) };
    },
  });
  return {
    ...tool,
    mayUse: (principal) => !isMandated(principal) && isRegistryOperator(principal),
  };
}

function historyTool(registrations: Registrations, access: Access): Tool {
  return defineTool({
    name: 'fabric.agent.history',
    title: 'History of the health of an agent',
    description: 'Shows when an agent changed its health, as gateways saw it, the newest first.',
    input: z.strictObject({
      agent_id: agentIdSchema.describe('Which agent'),
      limit: z.int().min(1).max(1_000).default(50),
    }),
    output: { entries: { type: 'array' } },
    annotations: READ_ONLY,
    async run({ agent_id, limit }, { principal }) {
      const isSeen = new VisibleAgents(principal, access).get(agent_id) !== undefined;
      const mayLook = isSeen || isRegistryOperator(principal);
      const entries = mayLook ? await registrations.history(agent_id, limit) : [];
      return { ok: true, agent_id, entries };
    },
  });
}

function forRegistrants(tool: Tool): Tool {
  return { ...tool, mayUse: (principal) => !isMandated(principal) && mayRegisterSome(principal) };
}
