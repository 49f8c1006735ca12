import { TRUST_TIERS } from '@starloom/core';
import { z } from 'zod';
import {
  type AgentRecord,
  agentRecordSchema,
  agentStateSchema,
  capabilityNameSchema,
  capabilitySchema,
  isOffering,
  LIVE_STATES,
} from '../agents/agent-record.ts';
import { agentIdSchema } from '../agents/caller.ts';
import { jsonObjectSchema } from '../json/json.ts';
import { failure } from '../reasons.ts';
import { defineMethod, metadata, request, sessionId, time } from './define-method.ts';

const capability = z.union([
  capabilityNameSchema.transform((name) => ({ name })),
  capabilitySchema,
]);
const agents = z.object({ agents: z.array(agentRecordSchema) });

export const agentRegistryMethods = {
  'agent_registry.register': defineMethod({
    summary:
      'Registers an agent. An earlier registration ends: its locks are released, and requests ' +
      'under its old epoch are refused',
    params: request({
      agent_id: agentIdSchema.describe(
        'Its name, which belongs to the principal that uses it first',
      ),
      capabilities: z.array(capability).max(256).describe('Names, or names with a description'),
      name: z.string().min(1).max(256).optional().describe('For people'),
      metadata: metadata.optional(),
      endpoint: jsonObjectSchema
        .optional()
        .describe(
          'Where it can be called, as in agents.yaml: the gateway then serves its calls. Needs the ' +
            'scope register:<agent_id>',
        ),
      node_id: z.string().min(1).max(128).optional().describe('Machine it runs on, with endpoint'),
      trust_tier: z.enum(TRUST_TIERS).optional().describe('How far it is trusted, with endpoint'),
    }),
    result: z.object({
      agent_id: z.string(),
      epoch: z.int(),
      heartbeat_interval_ms: z.int().describe('Send heartbeats at least this often'),
    }),
    errors: ['agent_id_taken', 'quota'],
    effect: 'write',
    run: async ({ services: { agents }, caller, peer }, { endpoint, ...params }) => {
      if (endpoint === undefined) return await agents.register(caller, params);
      const { agent_id, node_id, trust_tier, capabilities } = params;
      const callable = { agent_id, node_id, trust_tier, endpoint, capabilities };
      const instance = await peer.gateway.register(callable, agents.lifeMs);
      return await agents.register(caller, { ...params, instance });
    },
    onAnswer: async ({ peer }, { agent_id, epoch }) => await peer.bind(agent_id, epoch),
  }),

  'agent_registry.heartbeat': defineMethod({
    summary:
      'Keeps an agent active. With its epoch, on a new connection, the registration continues there',
    params: request({
      agent_id: agentIdSchema.optional().describe('By default the agent of this connection'),
      status: z.enum(LIVE_STATES).optional().describe('The new state of the agent'),
    }),
    result: z.object({
      status: agentStateSchema,
      next_before: time.describe('Without another heartbeat by then, the agent is inactive'),
    }),
    errors: ['agent_id_taken', 'not_found', 'stale_epoch'],
    effect: 'connection',
    run: async ({ services, peer, caller }, { status, epoch }) => {
      const beat = await services.agents.heartbeat(caller, status);
      if (beat.instance) {
        await peer.gateway.renew(caller.agentId, beat.instance);
        if (status === 'draining') await peer.gateway.drain(caller.agentId, beat.instance);
      }
      if (epoch !== undefined) await peer.bind(caller.agentId, epoch);
      return { status: beat.status, next_before: beat.next_before };
    },
  }),

  'agent_registry.unregister': defineMethod({
    summary:
      'Ends the registration of an agent: its locks are released, and its sessions are notified',
    params: request({
      agent_id: agentIdSchema.optional().describe('By default the agent of this connection'),
      leave: z.boolean().default(false).describe('Leave all its sessions, too'),
    }),
    result: z.object({ unregistered: z.literal(true) }),
    errors: ['agent_id_taken', 'not_found', 'stale_epoch'],
    effect: 'write',
    run: async ({ services, caller, peer }, { leave }) => {
      if (leave) {
        for (const { meta } of await services.sessions.list(caller)) {
          await services.sessions.leave(caller, meta.session_id);
        }
      }
      const [known] = await services.agents.some([caller.agentId]);
      const answer = await services.agents.unregister(caller);
      if (known?.instance) await peer.gateway.leave(caller.agentId, known.instance);
      return answer;
    },
    onAnswer: async ({ peer, caller }) => peer.unbind(caller.agentId),
  }),

  'agent_registry.get': defineMethod({
    summary: 'The record of an agent; only its own principal sees name and metadata',
    params: request({ agent_id: agentIdSchema.describe('The agent to look up') }),
    result: agentRecordSchema,
    errors: ['not_found'],
    effect: 'read',
    needsAgent: () => false,
    aboutAgent: true,
    run: async ({ services: { agents }, caller, peer }, { agent_id }) => {
      const [registered] = await agents.asSeenBy(caller, await agents.some([agent_id]));
      const served = peer.gatewayAgents().find((agent) => agent.agent_id === agent_id);
      const agent = registered ?? served;
      if (agent === undefined) throw failure('not_found/agent', { agent_id });
      return agent;
    },
  }),

  'agent_registry.list': defineMethod({
    summary:
      'All agents, those of the gateway too (source: gateway); or those in a state, or in a session',
    params: request({
      status: agentStateSchema.optional().describe('Only those in this state'),
      session_id: sessionId.optional().describe('Only members of this session'),
    }),
    result: agents,
    errors: ['not_found'],
    effect: 'read',
    needsAgent: ({ session_id }) => session_id !== undefined,
    run: async ({ services, caller, peer }, { status, session_id }) => {
      const isWanted = (agent: AgentRecord) => status === undefined || agent.status === status;
      const seen = async (found: readonly AgentRecord[]) =>
        await services.agents.asSeenBy(caller, found.filter(isWanted));
      if (session_id === undefined) {
        const registered = await services.agents.list();
        const served = peer.gatewayAgents().filter(isWanted);
        return { agents: [...(await seen(registered)), ...without(registered, served)] };
      }
      const { members } = await services.sessions.get(caller, session_id);
      const found = await services.agents.some(members.map(({ agent_id }) => agent_id));
      return { agents: [...(await seen(found))] };
    },
  }),

  'agent_registry.find': defineMethod({
    summary: 'Active agents that offer a capability, those of the gateway too',
    params: request({ capability: capabilityNameSchema.describe('Its name') }),
    result: agents,
    errors: [],
    effect: 'read',
    needsAgent: () => false,
    run: async ({ services: { agents: registry }, caller, peer }, { capability: name }) => {
      const served = peer.gatewayAgents().filter((agent) => isOffering(agent, name));
      const found = await registry.find(name);
      return { agents: [...(await registry.asSeenBy(caller, found)), ...without(found, served)] };
    },
  }),
};

/** An agent that registered here and is served by the gateway is listed once. */
function without(known: readonly AgentRecord[], served: readonly AgentRecord[]): AgentRecord[] {
  const ids = new Set(known.map(({ agent_id }) => agent_id));
  return served.filter(({ agent_id }) => !ids.has(agent_id));
}
