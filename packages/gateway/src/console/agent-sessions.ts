// Sessions of agents: who is in them, who holds which lock, and what their context says and said.

import type {
  ContextHistory,
  Json,
  JsonObject,
  LockView,
  MemberView,
  SessionDetail,
  SessionRow,
} from '@starloom/console/api-types';
import type { SessionView, SessionViews } from '@starloom/coordination';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import type { ConsoleParts } from './console.ts';
import type { PageStream } from './page-stream.ts';
import {
  type ConsoleRequest,
  type Handler,
  type Handlers,
  ownerOf,
  parseQuery,
  scopeOf,
  toTime,
  withPart,
} from './request.ts';

const MAX_SESSIONS = 500;
const LIST_POLL_MS = 2_000;

const historySchema = z.strictObject({
  cursor: z.coerce.number().int().min(1).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

export const agentSessionHandlers: Handlers = {
  'GET sessions': withViews(async ({ principal }, views) => ({
    scope: scopeOf(principal, 'sessions'),
    sessions: (await views.list(ownerOf(principal, 'sessions'), MAX_SESSIONS)).map(toRow),
  })),
  'GET sessions/:id': withViews(async ({ principal, params }, views) => {
    const found = await views.read(params.id ?? '', ownerOf(principal, 'sessions'));
    return found ? toDetail(found) : notFound(params.id);
  }),
  'GET sessions/:id/history': withViews(async (request, views): Promise<ContextHistory> => {
    const { principal, params } = request;
    const { cursor: before, limit } = parseQuery(historySchema, request);
    const owner = ownerOf(principal, 'sessions');
    const found = await views.history(params.id ?? '', owner, { before, limit });
    if (!found) return notFound(params.id);
    return {
      entries: found.changes.map(({ version, at, event }) => ({
        version,
        at: toTime(at),
        agent_id: event.agent_id,
        operation: event.op,
        paths: [...Object.keys(event.update), ...event.removed],
        value: event.update as Json,
      })),
      ...(found.next !== undefined && { next_cursor: String(found.next) }),
    };
  }),
};

/** Tells a page when the list of sessions, or the one that it shows, changed; returns how to stop. */
export function watchSessions({ coordination }: ConsoleParts, stream: PageStream): () => void {
  if (!coordination || !stream.wants('sessions')) return () => {};
  const { views, mayUse } = coordination.services;
  const { principal, agentSession } = stream.options;
  const owner = ownerOf(principal, 'sessions');
  if (owner !== undefined && !mayUse(principal)) return () => {};
  let before: string | undefined;
  let isStopped = false;
  const stops: (() => void)[] = [];
  const look = async () => {
    const ids = JSON.stringify(await views.ids(owner));
    if (before !== undefined && before !== ids) {
      stream.send('sessions', 'sessions', { type: 'session' });
    }
    before = ids;
  };
  const timer = setInterval(() => void look().catch(() => {}), LIST_POLL_MS).unref();
  stops.push(() => clearInterval(timer));
  const follow = async (session_id: string) => {
    if ((await views.read(session_id, owner)) === undefined) return;
    const line = { type: 'session', session_id } as const;
    const onEvent = () => stream.send('sessions', `session ${session_id}`, line);
    const following = await views.follow(session_id, onEvent);
    if (isStopped) following.stop();
    else stops.push(() => following.stop());
  };
  if (agentSession !== undefined) void follow(agentSession).catch(() => stream.reload('sessions'));
  return () => {
    isStopped = true;
    for (const stop of stops) stop();
  };
}

function withViews(
  handle: (request: ConsoleRequest, views: SessionViews) => Promise<object>,
): Handler {
  return withPart('coordination', (request, { services }) => {
    const { principal } = request;
    const mayLook = scopeOf(principal, 'sessions') === 'all' || services.mayUse(principal);
    if (!mayLook) throw failure('console_scope', { scope: 'toolset:coordination' });
    return handle(request, services.views);
  });
}

function notFound(id = ''): never {
  throw failure('not_found/session', { session_id: id.slice(0, 100) });
}

function toRow({ session, members, locks, version }: SessionView): SessionRow {
  const { session_id, mode, state, principal, created_at, created_by, ttl_ms } = session;
  return {
    session_id,
    mode,
    state,
    principal,
    created_at: toTime(created_at),
    created_by,
    ttl_ms,
    members: members.length,
    connected: members.filter(({ connected }) => connected).length,
    locks: locks.length,
    version,
  };
}

function toDetail(view: SessionView): SessionDetail {
  const { parent } = view.session;
  return {
    ...toRow(view),
    ...(parent && { parent }),
    member_list: view.members.map((member): MemberView => {
      const { agent_id, principal, role, epoch, connected, last_seen } = member;
      const seen = last_seen === null ? {} : { last_seen: toTime(last_seen) };
      return { agent_id, principal, role, epoch, connected, ...seen };
    }),
    lock_list: view.locks.map(
      ({ resource, agentId, token, expiresAt, waiting }): LockView => ({
        resource,
        holder: agentId,
        fencing_token: token,
        expires_at: toTime(expiresAt),
        waiting,
      }),
    ),
    context: view.context as JsonObject,
  };
}
