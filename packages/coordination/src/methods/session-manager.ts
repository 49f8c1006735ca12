import { z } from 'zod';
import { agentIdSchema } from '../agents/caller.ts';
import { checkpointSchema } from '../context/checkpoints.ts';
import { failure } from '../reasons.ts';
import {
  accessSchema,
  type Member,
  memberSchema,
  modeSchema,
  roleSchema,
  type SessionMeta,
  stateSchema,
} from '../session/session-record.ts';
import {
  cursor,
  defineMethod,
  metadata,
  request,
  sessionId,
  sessionTtl,
  time,
  version,
} from './define-method.ts';

const mode = modeSchema.describe('What an update needs: the lock, or nothing but versions');

const summarySchema = z.object({
  session_id: z.string(),
  mode,
  state: stateSchema,
  role: roleSchema.describe('Of the caller'),
  metadata,
  created_at: time,
  created_by: z.string(),
});
const detailSchema = summarySchema.extend({
  ttl_ms: z.number(),
  open: z.boolean(),
  access: accessSchema,
  parent: z.object({ session_id: z.string(), version }).nullable(),
  members: z.array(memberSchema.omit({ principal: true })),
  version: version.describe('Of the context'),
  cursor,
});
const grantee = {
  member: agentIdSchema.optional().describe('An agent'),
  principal: z.string().min(1).max(256).optional().describe('All agents of a principal'),
};

const createParams = request({
  session_id: sessionId.optional().describe('By default a new random one'),
  metadata: metadata.optional(),
  mode: mode.default('lock'),
  ttl_ms: sessionTtl.optional().describe('The session ends after this time without use'),
  open: z.boolean().default(false).describe('Every agent that knows its id may join and write'),
  access: z
    .strictObject(accessSchema.partial().shape)
    .optional()
    .describe(
      'Roles of agents and principals that may join, besides the agents of the same principal',
    ),
});
export type CreateRequest = z.output<typeof createParams>;

const forkParams = request({
  session_id: sessionId,
  new_session_id: sessionId.optional().describe('By default a new random one'),
  at_version: version.optional().describe('The context as it was then'),
  checkpoint_id: z
    .string()
    .max(64)
    .optional()
    .describe('The context of this checkpoint; not together with at_version'),
  metadata: metadata.optional(),
  mode: mode.optional(),
  ttl_ms: sessionTtl.optional(),
});
export type ForkRequest = z.output<typeof forkParams>;

const changedState = z.object({ session_id: z.string(), state: stateSchema });

export const sessionManagerMethods = {
  'session_manager.create': defineMethod({
    summary: 'Creates a session; the caller is its owner and first member',
    params: createParams,
    result: z.object({ session_id: z.string(), mode }),
    errors: ['agent_id_taken', 'session_exists', 'id_unavailable', 'stale_epoch', 'quota'],
    effect: 'write',
    run: async ({ services, caller }, params) => {
      const { session_id, mode: how } = await services.sessions.create(caller, params);
      return { session_id, mode: how };
    },
  }),

  'session_manager.join': defineMethod({
    summary: 'Joins a session; the other members are notified',
    params: request({
      session_id: sessionId,
      role: roleSchema
        .optional()
        .describe('By default the highest that it may have, at most writer'),
    }),
    result: summarySchema.extend({ cursor }),
    errors: ['agent_id_taken', 'not_found', 'stale_epoch', 'quota'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, role }) => {
      const { meta, member, partition } = await services.sessions.join(caller, session_id, role);
      const { version: at } = await services.store.read(partition, []);
      return { ...toSummary(meta, member), cursor: at };
    },
  }),

  'session_manager.leave': defineMethod({
    summary:
      'Leaves a session and releases its locks. The last member that leaves ends the session',
    params: request({ session_id: sessionId }),
    result: z.object({ left: z.literal(true), ended: z.boolean() }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'write',
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
      state: stateSchema
        .optional()
        .describe(
          'Only those in this state; by default all that have not ended. Ended ones are listed for a minute',
        ),
    }),
    result: z.object({ sessions: z.array(summarySchema) }),
    errors: ['stale_epoch'],
    effect: 'read',
    run: async ({ services, caller }, { state }) => {
      await services.agents.epochOf(caller);
      const all = await services.sessions.list(caller, state === 'ended' ? 'ended' : 'open');
      const wanted = all.filter(({ meta }) => state === undefined || meta.state === state);
      return { sessions: wanted.map(({ meta, member }) => toSummary(meta, member)) };
    },
  }),

  'session_manager.end': defineMethod({
    summary:
      'Ends a session: its locks are released, and it is forgotten after a minute. For owners',
    params: request({ session_id: sessionId }),
    result: z.object({ session_id: z.string(), state: z.literal('ended') }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    run: async ({ services, caller }, { session_id }) => {
      await services.access.fresh(caller, session_id, { role: 'owner' });
      await services.ending.end(session_id, 'ended', caller.agentId);
      return { session_id, state: 'ended' as const };
    },
  }),

  'session_manager.grant': defineMethod({
    summary:
      'Gives an agent, or the agents of a principal, a role in the session. Members have it at once; ' +
      'a role given to an agent takes precedence over that of its principal. For owners',
    params: request({ session_id: sessionId, ...grantee, role: roleSchema }),
    result: z.object({ session_id: z.string(), access: accessSchema }),
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'quota'],
    effect: 'write',
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
    result: z.object({ session_id: z.string(), access: accessSchema }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, member, principal }) => {
      assertNamed(member, principal);
      const { access } = await services.rights.revoke(caller, session_id, { member, principal });
      return { session_id, access };
    },
  }),

  'session_manager.suspend': defineMethod({
    summary: 'No agent writes or holds a lock until it is resumed, and its timers stop. For owners',
    params: request({ session_id: sessionId }),
    result: changedState,
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    run: async ({ services, caller }, { session_id }) => {
      const { state } = await services.rights.suspend(caller, session_id);
      return { session_id, state };
    },
  }),

  'session_manager.resume': defineMethod({
    summary:
      'Opens a suspended session again, optionally with the context of a checkpoint. For owners',
    params: request({
      session_id: sessionId,
      checkpoint_id: z.string().max(64).optional().describe('Go on from this context'),
    }),
    result: changedState,
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'conflict'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, checkpoint_id }) => {
      const { state } = await services.checkpoints.resume(caller, session_id, checkpoint_id);
      return { session_id, state };
    },
  }),

  'session_manager.checkpoint': defineMethod({
    summary: 'Keeps a copy of the context',
    params: request({
      session_id: sessionId,
      name: z.string().min(1).max(256).optional().describe('For people'),
    }),
    result: checkpointSchema,
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'quota'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, name }) =>
      await services.checkpoints.make(caller, session_id, name ?? null),
  }),

  'session_manager.checkpoints': defineMethod({
    summary: 'The checkpoints of a session',
    params: request({ session_id: sessionId }),
    result: z.object({ checkpoints: z.array(checkpointSchema) }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'read',
    run: async ({ services, caller }, { session_id }) => ({
      checkpoints: [...(await services.checkpoints.list(caller, session_id))],
    }),
  }),

  'session_manager.remove_checkpoint': defineMethod({
    summary: 'Removes a checkpoint. For owners',
    params: request({
      session_id: sessionId,
      checkpoint_id: z.string().max(64).describe('As session_manager.checkpoint gave it'),
    }),
    result: z.object({ removed: z.boolean().describe('False when there was no such checkpoint') }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, checkpoint_id }) => ({
      removed: await services.checkpoints.remove(caller, session_id, checkpoint_id),
    }),
  }),

  'session_manager.fork': defineMethod({
    summary: 'A new session of the caller that begins with the context of this one',
    params: forkParams,
    result: z.object({
      session_id: z.string(),
      mode,
      parent: z.object({ session_id: z.string(), version }).nullable(),
    }),
    errors: [
      'not_found',
      'session_exists',
      'id_unavailable',
      'stale_epoch',
      'cursor_from_the_future',
      'quota',
    ],
    effect: 'write',
    run: async ({ services, caller }, params) => {
      const { checkpoint_id, at_version } = params;
      if (checkpoint_id !== undefined && at_version !== undefined) {
        throw failure('bad_params/two_origins');
      }
      const { session_id, mode: how, parent } = await services.checkpoints.fork(caller, params);
      return { session_id, mode: how, parent };
    },
  }),
};

function toSummary(meta: SessionMeta, { role }: Member) {
  const { session_id, mode: how, state, metadata: about, created_at, created_by } = meta;
  return { session_id, mode: how, state, role, metadata: about, created_at, created_by };
}

function assertNamed(member: string | undefined, principal: string | undefined): void {
  if (member !== undefined || principal !== undefined) return;
  throw failure('bad_params/no_grantee');
}
