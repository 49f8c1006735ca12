import { z } from 'zod';
import { valuesOf, versionsOf } from '../context/context-errors.ts';
import { UPDATE_OPERATIONS } from '../context/context-operations.ts';
import { jsonObjectSchema, jsonSchema } from '../json/json.ts';
import { defineMethod, request } from './define-method.ts';
import {
  contextKey,
  cursor,
  exampleSession,
  exampleTime,
  lockToken,
  sessionId,
  version,
} from './fields.ts';

const keys = z.array(contextKey).max(1_000);
const contextSchema = z.object({
  context: jsonObjectSchema,
  version: version.describe('Of the context; good for if_version'),
  versions: z.record(z.string(), version).describe('Of each key; good for if_versions'),
  cursor,
});
export const contextCoordinatorMethods = {
  'context_coordinator.get': defineMethod({
    summary: 'The context of a session, or some keys of it, now or as it was',
    params: request({
      session_id: sessionId,
      keys: keys.optional().describe('Only these keys'),
      at_version: version.optional().describe('As it was at this version or cursor'),
    }),
    result: contextSchema,
    errors: ['not_found', 'stale_epoch', 'cursor_from_the_future'],
    effect: 'read',
    example: {
      params: { session_id: exampleSession },
      result: {
        context: { outline: ['why', 'how'] },
        version: 12,
        versions: { outline: 12 },
        cursor: 14,
      },
    },
    run: async ({ services, caller }, { session_id, keys: wanted, at_version }) => {
      const view = await services.context.get(caller, session_id, wanted, at_version);
      const { version: at, cursor: next } = view;
      return { context: valuesOf(view), version: at, versions: versionsOf(view), cursor: next };
    },
  }),

  'context_coordinator.update': defineMethod({
    summary:
      'Changes the context, whole or not at all. It needs the lock of the context unless the ' +
      'session is of mode "cas"',
    params: request({
      session_id: sessionId,
      update: jsonSchema.describe(
        'Keys and values; for "increment" amounts, for "patch" a JSON merge patch or a JSON Patch',
      ),
      op: z
        .enum(UPDATE_OPERATIONS)
        .default('merge')
        .describe(
          '"merge" sets the keys it names, "replace" is the whole new context, "append" adds to ' +
            'lists, "increment" adds to numbers, up to 2^53 - 1, "patch" applies a patch',
        ),
      lock_token: lockToken.optional(),
      with_lock: z
        .boolean()
        .default(false)
        .describe('Take the lock, write and release it in one step; refused when it is held'),
      if_version: version.optional().describe('The context must not have changed since'),
      if_versions: z
        .record(contextKey, version)
        .optional()
        .describe('These keys must be at these versions; 0 means absent'),
      cause: z.string().max(2_000).optional().describe('Why, for the history'),
    }),
    result: z.object({
      version,
      lock_token: lockToken.optional().describe('Under which with_lock wrote'),
    }),
    errors: [
      'not_found',
      'role_too_low',
      'stale_epoch',
      'session_suspended',
      'lock_required',
      'lock_held',
      'stale_token',
      'conflict',
      'test_failed',
      'patch_failed',
      'not_a_number',
      'not_a_list',
      'quota',
    ],
    effect: 'keyed',
    example: {
      params: {
        session_id: exampleSession,
        update: { outline: ['why', 'how'] },
        lock_token: exampleTime,
      },
      result: { version: 12 },
    },
    run: ({ services, caller }, params) => services.context.update(caller, params),
  }),
};
