import { z } from 'zod';
import {
  AGENT_STATES,
  type AgentRecord,
  agentRecordSchema,
  capabilityNameSchema,
  capabilitySchema,
  isOffering,
  LIVE_STATES,
} from '../agents/agent-record.ts';
import { agentIdSchema } from '../agents/caller.ts';
import { notFound } from '../errors.ts';
import { defineMethod, request } from './define-method.ts';
import { exampleTime, metadata, sessionId, time } from './fields.ts';

const capability = z.union([
  capabilityNameSchema.transform((name) => ({ name })),
  capabilitySchema,
]);
const agents = z.object({ agents: z.array(agentRecordSchema) });

const exampleAgent = {
  agent_id: 'planner',
  name: 'planner',
  capabilities: [{ name: 'plan' }],
  metadata: {},
  status: 'active' as const,
  epoch: exampleTime,
  registered_at: exampleTime,
  last_seen: exampleTime,
  source: 'registered' as const,
};

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
    }),
    result: z.object({
      agent_id: z.string(),
      epoch: z.int(),
      heartbeat_interval_ms: z.int().describe('Beat at least this often'),
    }),
    errors: ['agent_id_taken', 'quota'],
    effect: 'write',
    example: {
      params: { agent_id: 'planner', capabilities: ['plan'] },
      result: { agent_id: 'planner', epoch: exampleTime, heartbeat_interval_ms: 30_000 },
    },
    run: async ({ services, caller }, params) => await services.agents.register(caller, params),
    onAnswer: async ({ peer }, { agent_id, epoch }) => await peer.bind(agent_id, epoch),
  }),

  'agent_registry.heartbeat': defineMethod({
    summary:
      'The agent is still there. With its epoch, on a new connection, it goes on there as it was',
    params: request({
      agent_id: agentIdSchema.optional().describe('By default the agent of this connection'),
      status: z.enum(LIVE_STATES).optional().describe('What it does now, when that has changed'),
    }),
    result: z.object({
      status: z.enum(AGENT_STATES),
      next_before: time.describe('It counts as lost when there is no beat by then'),
    }),
    errors: ['agent_id_taken', 'not_found', 'stale_epoch'],
    effect: 'connection',
    example: {
      params: { agent_id: 'planner' },
      result: { status: 'active', next_before: exampleTime + 45_500 },
    },
    run: async ({ services, peer, caller }, { status, epoch }) => {
      const beat = await services.agents.heartbeat(caller, status);
      if (epoch !== undefined) await peer.bind(caller.agentId, epoch);
      return { status: beat.status, next_before: beat.next_before };
    },
  }),

  'agent_registry.unregister': defineMethod({
    summary: 'Ends the registration of an agent: its locks are free, and its sessions are notified',
    params: request({
      agent_id: agentIdSchema.optional().describe('By default the agent of this connection'),
      leave: z.boolean().default(false).describe('Leave all its sessions, too'),
    }),
    result: z.object({ unregistered: z.literal(true) }),
    errors: ['agent_id_taken', 'not_found', 'stale_epoch'],
    effect: 'write',
    example: { params: { agent_id: 'planner' }, result: { unregistered: true } },
    run: async ({ services, caller }, { leave }) => {
      if (leave) {
        for (const { meta } of await services.sessions.list(caller)) {
          await services.sessions.leave(caller, meta.session_id);
        }
      }
      return await services.agents.unregister(caller);
    },
    onAnswer: async ({ peer, caller }) => peer.unbind(caller.agentId),
  }),

  'agent_registry.get': defineMethod({
    summary: 'What is known of an agent; its name and metadata only to its own principal',
    params: request({ agent_id: agentIdSchema.describe('The agent it is about') }),
    result: agentRecordSchema,
    errors: ['not_found'],
    effect: 'read',
    needsAgent: () => false,
    aboutAgent: true,
    example: { params: { agent_id: 'planner' }, result: exampleAgent },
    run: async ({ services: { agents }, caller, peer }, { agent_id }) => {
      const [registered] = await agents.asSeenBy(caller, await agents.some([agent_id]));
      const served = peer.gatewayAgents().find((agent) => agent.agent_id === agent_id);
      const agent = registered ?? served;
      if (agent === undefined) throw notFound('agent', agent_id);
      return agent;
    },
  }),

  'agent_registry.list': defineMethod({
    summary:
      'All agents, those of the gateway too (source: gateway); or those in a state, or in a session',
    params: request({
      status: z.enum(AGENT_STATES).optional().describe('Only those in this state'),
      session_id: sessionId.optional().describe('Only members of this session'),
    }),
    result: agents,
    errors: ['not_found'],
    effect: 'read',
    needsAgent: ({ session_id }) => session_id !== undefined,
    example: { params: { status: 'active' }, result: { agents: [exampleAgent] } },
    run: async ({ services, caller, peer }, { status, session_id }) => {
      const isWanted = (agent: AgentRecord) => status === undefined || agent.status === status;
      const seen = async (found: readonly AgentRecord[]) =>
        await services.agents.asSeenBy(caller, found.filter(isWanted));
      if (session_id === undefined) {
        const served = peer.gatewayAgents().filter(isWanted);
        return { agents: [...(await seen(await services.agents.list())), ...served] };
      }
      const { members } = await services.sessions.get(caller, session_id);
      const found = await services.agents.some(members.map(({ agent_id }) => agent_id));
      return { agents: [...(await seen(found))] };
    },
  }),

  'agent_registry.find': defineMethod({
    summary: 'Agents that are there and offer a capability, those of the gateway too',
    params: request({ capability: capabilityNameSchema.describe('Its name') }),
    result: agents,
    errors: [],
    effect: 'read',
    needsAgent: () => false,
    example: { params: { capability: 'plan' }, result: { agents: [exampleAgent] } },
    run: async ({ services: { agents: registry }, caller, peer }, { capability: name }) => {
      const served = peer.gatewayAgents().filter((agent) => isOffering(agent, name));
      return {
        agents: [...(await registry.asSeenBy(caller, await registry.find(name))), ...served],
      };
    },
  }),
};
