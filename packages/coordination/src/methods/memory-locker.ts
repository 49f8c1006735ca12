import { z } from 'zod';
import { anyAgentIdSchema, fromHolder } from '../agents/caller.ts';
import type { Lease, Waiting } from '../coordination-store.ts';
import { CONTEXT_RESOURCE } from '../memory-lock.ts';
import {
  anyResource,
  defineMethod,
  keyName,
  lockToken,
  lockTtl,
  request,
  resource,
  sessionId,
  time,
  waitMs,
} from './define-method.ts';

const mode = z.enum(['exclusive', 'shared']).meta({ title: 'LockMode' });
const grantedSchema = z
  .object({
    lock_token: lockToken,
    expires_at: time,
    resource: z.string(),
    mode,
  })
  .meta({ title: 'Grant' });
const lockSchema = z
  .object({
    resource: z.string(),
    mode,
    holder: z.string(),
    expires_at: time,
    lock_token: lockToken.optional().describe('Only of the caller itself'),
  })
  .meta({ title: 'LockInfo' });
const placeSchema = z.object({
  resource: z.string(),
  mode,
  holder: z.string(),
  position: z.int(),
  priority: z.int(),
  since: time,
  ticket: z.string().optional().describe('Only of the caller itself'),
});

const acquireParams = request({
  session_id: sessionId,
  resource,
  mode: mode.default('exclusive').describe('"shared" among readers'),
  ttl_ms: lockTtl,
  wait_ms: waitMs.describe('How long to wait for it; 0 not at all'),
  priority: z
    .int()
    .min(-100)
    .max(100)
    .default(0)
    .describe('Higher is served first; no request overtakes one that has waited for 5 s'),
  async: z
    .boolean()
    .default(false)
    .describe('Answer at once with a ticket; memory_locker.granted reports the lock'),
});
export type AcquireRequest = z.output<typeof acquireParams>;

export const memoryLockerMethods = {
  'memory_locker.acquire': defineMethod({
    summary:
      'Takes a lock. When it is held, the request waits for its turn for wait_ms, higher priority ' +
      'first. A request that would cause a deadlock in the session is refused at once, and so is ' +
      'one for a lock that the agent has already',
    params: acquireParams,
    result: z.union([
      grantedSchema,
      z.object({ queued: z.literal(true), ticket: z.string(), position: z.int() }),
    ]),
    errors: [
      'not_found',
      'role_too_low',
      'stale_epoch',
      'session_suspended',
      'lock_held',
      'deadlock',
      'quota',
    ],
    effect: 'keyed',
    run: async ({ services, caller }, params) => {
      const acquired = await services.locks.acquire(caller, params);
      if ('lease' in acquired) return toGranted(acquired.lease);
      return { queued: true as const, ...acquired.queued };
    },
  }),

  'memory_locker.renew': defineMethod({
    summary: 'Extends the time of a lock',
    params: request({ session_id: sessionId, resource, lock_token: lockToken, ttl_ms: lockTtl }),
    result: grantedSchema,
    errors: ['not_found', 'stale_epoch', 'stale_token', 'session_suspended'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, lock_token: token, ttl_ms, ...lock }) => {
      const name = { resource: lock.resource, token };
      return toGranted(await services.locks.renew(caller, session_id, name, ttl_ms));
    },
  }),

  'memory_locker.release': defineMethod({
    summary: 'Releases a lock; the next in the queue gets it',
    params: request({ session_id: sessionId, resource, lock_token: lockToken }),
    result: z.object({ released: z.literal(true) }),
    errors: ['not_found', 'stale_epoch', 'stale_token'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, resource: what, lock_token: token }) =>
      await services.locks.release(caller, session_id, { resource: what, token }),
  }),

  'memory_locker.cancel': defineMethod({
    summary: 'Gives up a place in the queue, or the lock that it was granted meanwhile',
    params: request({ session_id: sessionId, ticket: keyName(300) }),
    result: z.object({ cancelled: z.boolean() }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, ticket }) => ({
      cancelled: await services.locks.cancel(caller, session_id, ticket),
    }),
  }),

  'memory_locker.status': defineMethod({
    summary: 'The locks of a session, their holders, and the agents that wait',
    params: request({
      session_id: sessionId,
      resource: anyResource.optional().describe('By default all'),
      holder: anyAgentIdSchema.optional().describe('Only of this agent'),
      lock_token: lockToken.optional().describe('Only this lock'),
    }),
    result: z.object({
      locked: z.boolean(),
      locks: z.array(lockSchema),
      waiting: z.array(placeSchema),
    }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'read',
    run: async ({ services, caller }, { session_id, resource: what, holder, lock_token }) => {
      const status = await services.locks.status(caller, session_id, what);
      const isLock = ({ token }: Lease) => lock_token === undefined || token === lock_token;
      const isMeant = (entry: { holder: string }) =>
        holder === undefined || fromHolder(entry.holder).agentId === holder;
      const locks = status.leases
        .filter((lease) => isMeant(lease) && isLock(lease))
        .map((lease) => toLock(lease, status.holder));
      const waiting = status.waiting.filter(isMeant).map((place) => toPlace(place, status.holder));
      return { locked: locks.length > 0, locks, waiting };
    },
  }),

  'memory_locker.break': defineMethod({
    summary: 'Ends locks forcibly and notifies their holders. For owners',
    params: request({
      session_id: sessionId,
      resource: anyResource.optional().describe('By default the context, or with holder anything'),
      lock_token: lockToken.optional(),
      holder: anyAgentIdSchema.optional().describe('Only locks of this agent'),
    }),
    result: z.object({ broken: z.array(lockSchema) }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, resource: what, holder, lock_token }) => {
      const target = what ?? (holder === undefined ? CONTEXT_RESOURCE : undefined);
      const named = { resource: target, lock_token, holder };
      const broken = await services.locks.break(caller, session_id, named);
      return { broken: broken.map((lease) => toLock(lease, '')) };
    },
  }),
};

function toGranted({ token, expiresAt, resource: what, mode: how }: Lease) {
  return { lock_token: token, expires_at: expiresAt, resource: what, mode: how };
}

function toLock(lease: Lease, own: string) {
  const { resource: what, mode: how, holder, expiresAt: expires_at, token } = lease;
  const lock = { resource: what, mode: how, holder: fromHolder(holder).agentId, expires_at };
  return holder === own ? { ...lock, lock_token: token } : lock;
}

function toPlace(place: Waiting, own: string) {
  const { ticket, until: _, holder, ...rest } = place;
  const shown = { ...rest, holder: fromHolder(holder).agentId };
  return holder === own ? { ...shown, ticket } : shown;
}
