import { z } from 'zod';
import { checkpointSchema } from '../context/checkpoints.ts';
import { SESSION_MODES, SESSION_STATES } from '../session/session-record.ts';
import { defineMethod, request } from './define-method.ts';
import { exampleSession, exampleTime, metadata, sessionId, sessionTtl, version } from './fields.ts';

const mode = z.enum(SESSION_MODES);
const stateSchema = z.object({ session_id: z.string(), state: z.enum(SESSION_STATES) });

const exampleCheckpoint = {
  checkpoint_id: '0b6f8b8e-3a55-4f9e-8d0c-1f2e3d4c5b6a',
  name: 'draft',
  version: 12,
  keys: 3,
  agent_id: 'planner',
  at: exampleTime,
};

export const checkpointMethods = {
  'session_manager.suspend': defineMethod({
    summary: 'No agent writes or holds a lock until it is resumed, and its timers stop. For owners',
    params: request({ session_id: sessionId }),
    result: stateSchema,
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession },
      result: { session_id: exampleSession, state: 'suspended' },
    },
    run: async ({ services, caller }, { session_id }) => {
      const { state } = await services.rights.suspend(caller, session_id);
      return { session_id, state };
    },
  }),

  'session_manager.resume': defineMethod({
    summary:
      'Opens a suspended session again, if asked with the context of a checkpoint. For owners',
    params: request({
      session_id: sessionId,
      checkpoint_id: z.string().max(64).optional().describe('Go on from this context'),
    }),
    result: stateSchema,
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'conflict'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession },
      result: { session_id: exampleSession, state: 'active' },
    },
    run: async ({ services, caller }, { session_id, checkpoint_id }) => {
      const { state } = await services.checkpoints.resume(caller, session_id, checkpoint_id);
      return { session_id, state };
    },
  }),

  'session_manager.checkpoint': defineMethod({
    summary: 'Keeps the context as it is now',
    params: request({
      session_id: sessionId,
      name: z.string().min(1).max(256).optional().describe('For people'),
    }),
    result: checkpointSchema,
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'quota'],
    effect: 'write',
    example: { params: { session_id: exampleSession, name: 'draft' }, result: exampleCheckpoint },
    run: async ({ services, caller }, { session_id, name }) =>
      await services.checkpoints.make(caller, session_id, name ?? null),
  }),

  'session_manager.checkpoints': defineMethod({
    summary: 'The checkpoints of a session',
    params: request({ session_id: sessionId }),
    result: z.object({ checkpoints: z.array(checkpointSchema) }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'read',
    example: {
      params: { session_id: exampleSession },
      result: { checkpoints: [exampleCheckpoint] },
    },
    run: async ({ services, caller }, { session_id }) => ({
      checkpoints: [...(await services.checkpoints.list(caller, session_id))],
    }),
  }),

  'session_manager.remove_checkpoint': defineMethod({
    summary: 'Forgets a checkpoint. For owners',
    params: request({
      session_id: sessionId,
      checkpoint_id: z.string().max(64).describe('As session_manager.checkpoint gave it'),
    }),
    result: z.object({ removed: z.boolean().describe('False when there was no such checkpoint') }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession, checkpoint_id: exampleCheckpoint.checkpoint_id },
      result: { removed: true },
    },
    run: async ({ services, caller }, { session_id, checkpoint_id }) => ({
      removed: await services.checkpoints.remove(caller, session_id, checkpoint_id),
    }),
  }),

  'session_manager.fork': defineMethod({
    summary: 'A new session of the caller that begins with the context of this one',
    params: request({
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
    }),
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
    example: {
      params: { session_id: exampleSession, at_version: 12, new_session_id: 'what-if' },
      result: {
        session_id: 'what-if',
        mode: 'lock',
        parent: { session_id: exampleSession, version: 12 },
      },
    },
    run: async ({ services, caller }, params) => {
      const from = { checkpointId: params.checkpoint_id, version: params.at_version };
      const meta = await services.checkpoints.fork(caller, params.session_id, from, {
        session_id: params.new_session_id,
        metadata: params.metadata,
        mode: params.mode,
        ttl_ms: params.ttl_ms,
      });
      return { session_id: meta.session_id, mode: meta.mode, parent: meta.parent };
    },
  }),
};
