import { z } from 'zod';
import { anyAgentIdSchema } from '../agents/caller.ts';
import { CONTEXT_UPDATE, contextEventSchema, readEvents } from '../context/context-event.ts';
import { toContext, UPDATE_OPERATIONS } from '../context/context-operations.ts';
import { jsonObjectSchema, jsonSchema } from '../json/json.ts';
import { failure } from '../reasons.ts';
import {
  contextKey,
  cursor,
  defineMethod,
  limit,
  lockToken,
  request,
  sessionId,
  time,
  version,
} from './define-method.ts';

const keys = z.array(contextKey).max(1_000);
const contextSchema = z.object({
  context: jsonObjectSchema,
  version: version.describe('Of the context; good for if_version'),
  versions: z.record(z.string(), version).describe('Of each key; good for if_versions'),
  cursor,
});
const filters = {
  keys: z
    .array(contextKey)
    .max(1_000)
    .optional()
    .describe('Only keys that begin with one of these'),
  authors: z.array(anyAgentIdSchema).max(100).optional().describe('Only events of these agents'),
  types: z
    .array(z.string().max(64))
    .max(32)
    .optional()
    .describe(`Types of events, such as "lock.granted"; by default "${CONTEXT_UPDATE}"`),
};
const eventSchema = z.looseObject({ type: z.string(), version, at: time });
const pageSchema = z.object({
  cursor,
  snapshot_required: z
    .literal(true)
    .optional()
    .describe('Events after the cursor are gone: get the context, then continue from here'),
});

const updateParams = request({
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
});
export type ContextUpdate = z.output<typeof updateParams>;

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
    run: async ({ services, caller }, { session_id, keys: wanted, at_version }) => {
      const view = await services.context.get(caller, session_id, wanted, at_version);
      return { ...toContext(view), cursor: view.cursor };
    },
  }),

  'context_coordinator.update': defineMethod({
    summary:
      'Changes the context, completely or not at all. It needs the lock of the context unless the ' +
      'session is of mode "cas"',
    params: updateParams,
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
    run: ({ services, caller }, params) => services.context.update(caller, params),
  }),

  'context_coordinator.subscribe': defineMethod({
    summary:
      'Pushes updates after a cursor, each once and in order. On a connection without pushes it ' +
      'returns the cursor to continue from with context_coordinator.events',
    params: request({
      session_id: sessionId,
      after: cursor.optional().describe('By default from now on'),
      ...filters,
    }),
    result: z.object({
      subscription_id: z.string().describe('Identifies the subscription on this connection'),
      version,
      cursor,
    }),
    errors: ['not_found', 'stale_epoch', 'cursor_from_the_future', 'quota'],
    effect: 'connection',
    run: async ({ services, peer, caller }, { session_id, after, ...params }) => {
      const access = await services.access.fresh(caller, session_id, { role: 'reader' });
      const now = await services.context.get(caller, session_id, []);
      if (after !== undefined && after > now.cursor) {
        throw failure('cursor_from_the_future', { current_version: now.cursor });
      }
      const { keys: prefixes, authors, types = [CONTEXT_UPDATE] } = params;
      const filter = { keys: prefixes, authors, types };
      const subscribed = await peer.feeds.subscribe(access, filter, after ?? now.cursor);
      return { ...subscribed, version: now.version };
    },
  }),

  'context_coordinator.unsubscribe': defineMethod({
    summary: 'Ends a subscription of this connection, or all it has to a session',
    params: request({
      subscription_id: z.string().max(64).optional(),
      session_id: sessionId.optional(),
    }),
    result: z.object({ unsubscribed: z.boolean().describe('False when there was none') }),
    errors: [],
    effect: 'connection',
    run: async ({ peer }, { subscription_id, session_id }) => ({
      unsubscribed: peer.feeds.unsubscribe({ subscription_id, session_id }),
    }),
  }),

  'context_coordinator.events': defineMethod({
    summary: 'The events of a session after a cursor: updates, members, locks',
    params: request({
      session_id: sessionId,
      after: cursor.optional().describe('By default from the oldest event that is kept'),
      limit,
      ...filters,
      types: filters.types.describe('Types of events, such as "lock.granted"; by default all'),
    }),
    result: pageSchema.extend({ events: z.array(eventSchema) }),
    errors: ['not_found', 'stale_epoch', 'cursor_from_the_future'],
    effect: 'read',
    run: async ({ services, caller }, { session_id, after, limit: count, ...filter }) => {
      const need = { role: 'reader', state: 'any' } as const;
      const access = await services.access.fresh(caller, session_id, need);
      const page = await readEvents(services.store, access.partition, after, count, filter);
      return { ...page, events: page.events as z.output<typeof eventSchema>[] };
    },
  }),

  'context_coordinator.history': defineMethod({
    summary: 'The updates of the context after a cursor, with author, cause and trace',
    params: request({
      session_id: sessionId,
      after: cursor.optional().describe('By default from the oldest event that is kept'),
      limit,
      keys: filters.keys,
      authors: filters.authors,
    }),
    result: pageSchema.extend({
      events: z.array(contextEventSchema.omit({ type: true }).extend({ version, at: time })),
    }),
    errors: ['not_found', 'stale_epoch', 'cursor_from_the_future'],
    effect: 'read',
    run: async ({ services, caller }, { session_id, after, limit: count, ...asked }) => {
      const access = await services.access.fresh(caller, session_id, { role: 'reader' });
      const filter = { ...asked, types: [CONTEXT_UPDATE] };
      const page = await readEvents(services.store, access.partition, after, count, filter);
      const events = page.events.map((event) => {
        const { type: _, ...update } = contextEventSchema.parse(event);
        return { ...update, version: Number(event.version), at: Number(event.at) };
      });
      return { ...page, events };
    },
  }),
};
