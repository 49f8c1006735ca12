import { z } from 'zod';
import { agentIdSchema } from '../agents/caller.ts';
import { refuse } from '../errors.ts';
import {
  type Member,
  memberSchema,
  roleSchema,
  SESSION_MODES,
  SESSION_STATES,
  type SessionMeta,
} from '../session/session-record.ts';
import { defineMethod, request } from './define-method.ts';
import {
  cursor,
  exampleSession,
  exampleTime,
  metadata,
  sessionId,
  sessionTtl,
  time,
  version,
} from './fields.ts';

const mode = z
  .enum(SESSION_MODES)
  .describe('What an update needs: the lock, or nothing but versions');
const roles = z.record(z.string(), roleSchema);

const summarySchema = z.object({
  session_id: z.string(),
  mode,
  state: z.enum(SESSION_STATES),
  role: roleSchema.describe('Of the caller'),
  metadata,
  created_at: time,
  created_by: z.string(),
});
const detailSchema = summarySchema.extend({
  ttl_ms: z.number(),
  open: z.boolean(),
  access: z.object({ agents: roles, principals: roles }),
  parent: z.object({ session_id: z.string(), version }).nullable(),
  members: z.array(memberSchema.omit({ principal: true })),
  version: version.describe('Of the context'),
  cursor,
});
const grantee = {
  member: agentIdSchema.optional().describe('An agent'),
  principal: z.string().min(1).max(256).optional().describe('All agents of a principal'),
};

const exampleSummary = {
  session_id: exampleSession,
  mode: 'lock' as const,
  state: 'active' as const,
  role: 'owner' as const,
  metadata: { title: 'report' },
  created_at: exampleTime,
  created_by: 'planner',
};
const exampleMember = {
  agent_id: 'planner',
  role: 'owner' as const,
  epoch: exampleTime,
  connected: true,
  joined_at: exampleTime,
  last_seen: null,
};
export const sessionManagerMethods = {
  'session_manager.create': defineMethod({
    summary: 'Creates a session; the caller is its owner and first member',
    params: request({
      session_id: sessionId.optional().describe('By default a new random one'),
      metadata: metadata.optional(),
      mode: mode.default('lock'),
      ttl_ms: sessionTtl.optional().describe('It ends when it was not used for this long'),
      open: z.boolean().default(false).describe('Every agent that knows its id may join and write'),
      access: z
        .strictObject({ agents: roles.optional(), principals: roles.optional() })
        .optional()
        .describe('Who may join as what, besides the agents of the same principal'),
    }),
    result: z.object({ session_id: z.string(), mode }),
    errors: ['agent_id_taken', 'session_exists', 'id_unavailable', 'stale_epoch', 'quota'],
    effect: 'write',
    example: {
      params: { agent_id: 'planner', metadata: { title: 'report' } },
      result: { session_id: exampleSession, mode: 'lock' },
    },
    run: async ({ services, caller }, { access, ...params }) => {
      const { agents = {}, principals = {} } = access ?? {};
      const meta = await services.sessions.create(caller, {
        ...params,
        access: { agents, principals },
      });
      return { session_id: meta.session_id, mode: meta.mode };
    },
  }),

  'session_manager.join': defineMethod({
    summary: 'Joins a session; the other members are notified',
    params: request({
      session_id: sessionId,
      role: roleSchema.optional().describe('By default what it may, at most writer'),
    }),
    result: summarySchema.extend({ cursor }),
    errors: ['agent_id_taken', 'not_found', 'stale_epoch', 'quota'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession, agent_id: 'writer' },
      result: { ...exampleSummary, role: 'writer', cursor: 2 },
    },
    run: async ({ services, caller }, { session_id, role }) => {
      const { meta, member, partition } = await services.sessions.join(caller, session_id, role);
      const { version: at } = await services.store.read(partition, []);
      return { ...toSummary(meta, member), cursor: at };
    },
  }),

  'session_manager.leave': defineMethod({
    summary: 'Takes no part any longer; what it held is free. The last one out ends the session',
    params: request({ session_id: sessionId }),
    result: z.object({ left: z.literal(true), ended: z.boolean() }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession, agent_id: 'writer' },
      result: { left: true, ended: false },
    },
    run: async ({ services, caller }, { session_id }) => ({
      left: true as const,
      ...(await services.sessions.leave(caller, session_id)),
    }),
  }),

  'session_manager.get': defineMethod({
    summary: 'A session with its members; for a minute also one that has ended',
    params: request({ session_id: sessionId }),
    result: detailSchema,
    errors: ['not_found', 'stale_epoch'],
    effect: 'read',
    example: {
      params: { session_id: exampleSession, agent_id: 'planner' },
      result: {
        ...exampleSummary,
        ttl_ms: 86_400_000,
        open: false,
        access: { agents: {}, principals: {} },
        parent: null,
        members: [exampleMember],
        version: 12,
        cursor: 14,
      },
    },
    run: async ({ services, caller }, { session_id }) => {
      const { meta, role, members, ...at } = await services.sessions.get(caller, session_id);
      const { principal: _, ...shown } = meta;
      const present = members.map(({ principal: __, ...member }) => member);
      return { ...shown, role, members: present, ...at };
    },
  }),

  'session_manager.list': defineMethod({
    summary: 'The sessions that the caller is a member of',
    params: request({
      state: z
        .enum(SESSION_STATES)
        .optional()
        .describe(
          'Only those in this state; by default all that have not ended. One that did is there for a minute',
        ),
    }),
    result: z.object({ sessions: z.array(summarySchema) }),
    errors: ['stale_epoch'],
    effect: 'read',
    example: { params: { agent_id: 'planner' }, result: { sessions: [exampleSummary] } },
    run: async ({ services, caller }, { state }) => {
      await services.agents.epochOf(caller);
      const all = await services.sessions.list(caller, state === 'ended' ? 'ended' : 'open');
      const wanted = all.filter(({ meta }) => state === undefined || meta.state === state);
      return { sessions: wanted.map(({ meta, member }) => toSummary(meta, member)) };
    },
  }),

  'session_manager.end': defineMethod({
    summary: 'Ends a session: all it held is free, and it is forgotten after a minute. For owners',
    params: request({ session_id: sessionId }),
    result: z.object({ session_id: z.string(), state: z.literal('ended') }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession },
      result: { session_id: exampleSession, state: 'ended' },
    },
    run: async ({ services, caller }, { session_id }) => {
      await services.access.fresh(caller, session_id, { role: 'owner' });
      await services.ending.end(session_id, 'ended', caller.agentId);
      return { session_id, state: 'ended' as const };
    },
  }),

  'session_manager.grant': defineMethod({
    summary:
      'Lets an agent, or the agents of a principal, take part in a role; members have it at once, ' +
      'but a role given to an agent itself goes before that of its principal. For owners',
    params: request({ session_id: sessionId, ...grantee, role: roleSchema }),
    result: z.object({ session_id: z.string(), access: detailSchema.shape.access }),
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'quota'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession, member: 'reviewer', role: 'reader' },
      result: {
        session_id: exampleSession,
        access: { agents: { reviewer: 'reader' }, principals: {} },
      },
    },
    run: async ({ services, caller }, { session_id, member, principal, role }) => {
      assertNamed(member, principal);
      const to = { member, principal };
      const { access } = await services.rights.grant(caller, session_id, to, role);
      return { session_id, access };
    },
  }),

  'session_manager.revoke': defineMethod({
    summary: 'Revokes a right; agents that are members by it are removed. For owners',
    params: request({ session_id: sessionId, ...grantee }),
    result: z.object({ session_id: z.string(), access: detailSchema.shape.access }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession, member: 'reviewer' },
      result: { session_id: exampleSession, access: { agents: {}, principals: {} } },
    },
    run: async ({ services, caller }, { session_id, member, principal }) => {
      assertNamed(member, principal);
      const { access } = await services.rights.revoke(caller, session_id, { member, principal });
      return { session_id, access };
    },
  }),
};

function toSummary(meta: SessionMeta, { role }: Member) {
  const { session_id, mode: how, state, metadata: about, created_at, created_by } = meta;
  return { session_id, mode: how, state, role, metadata: about, created_at, created_by };
}

function assertNamed(member: string | undefined, principal: string | undefined): void {
  if (member !== undefined || principal !== undefined) return;
  throw refuse('bad_params', 'The request names no member and no principal', {
    fix: 'send member or principal',
  });
}
