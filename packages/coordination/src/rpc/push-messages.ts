// Events of a session's log as notifications for clients.

import type { StoredEvent } from '@starloom/core';
import { fromHolder } from '../agents/caller.ts';
import { CONTEXT_UPDATE } from '../context/context-event.ts';
import { type EventFilter, filterEvent } from '../context/event-filter.ts';
import { fieldsOf, typeOf } from '../feed/log-event.ts';
import type { JsonObject } from '../json/json.ts';

export interface PushMessage {
  readonly method: string;
  readonly params: JsonObject;
}

/** Names of notices that every connected member gets without asking. */
const NOTICES: Readonly<Record<string, string>> = {
  'session.agent_disconnected': 'session_manager.agent_disconnected',
  'session.agent_joined': 'session_manager.agent_joined',
  'session.agent_returned': 'session_manager.agent_joined',
  'session.agent_left': 'session_manager.agent_left',
  'session.suspended': 'session_manager.state_changed',
  'session.resumed': 'session_manager.state_changed',
  'session.ended': 'session_manager.state_changed',
};

const STATES: Readonly<Record<string, string>> = {
  'session.suspended': 'suspended',
  'session.resumed': 'active',
  'session.ended': 'ended',
};

/** What a member is told of an event; nothing of what it did itself. */
export function toNotice(
  sessionId: string,
  { event, version }: StoredEvent,
  holder: string,
): PushMessage | undefined {
  const type = typeOf(event);
  const method = NOTICES[type];
  const isLock = type.startsWith('lock.');
  if (method === undefined && !isLock) return undefined;
  const base = { session_id: sessionId, cursor: version };
  const { type: _, ...fields } = fieldsOf(event);
  if (isLock) return fields.holder === holder ? toLockNotice(event, base) : undefined;
  if (method === undefined || fields.agent_id === fromHolder(holder).agentId) return undefined;
  const state = STATES[type];
  const returned = type === 'session.agent_returned' && { returned: true };
  return { method, params: { ...base, ...fields, ...(state && { state }), ...returned } };
}

/** What a subscriber is told of an event, when it is of the kind it asked for. */
export function toSubscriptionPush(
  session: { readonly session_id: string; readonly subscription_id: string },
  stored: StoredEvent,
  filter: EventFilter,
): PushMessage | undefined {
  const fields = filterEvent(stored, filter);
  if (fields === undefined) return undefined;
  const { version: cursor } = stored;
  if (fields.type !== CONTEXT_UPDATE) {
    return { method: 'context_coordinator.event', params: { ...session, ...fields, cursor } };
  }
  const { type: _, lock_token: __, at: ___, ...update } = fields;
  return { method: 'context_coordinator.update', params: { ...session, ...update, cursor } };
}

function toLockNotice(
  event: StoredEvent['event'],
  base: { readonly session_id: string; readonly cursor: number },
): PushMessage | undefined {
  const { type, holder, token, ...fields } = fieldsOf(event);
  const { agentId: agent_id } = fromHolder(String(holder));
  const params = { ...base, ...fields, agent_id, lock_token: token ?? 0 };
  if (type === 'lock.granted') return { method: 'memory_locker.granted', params };
  if (type === 'lock.lost') return { method: 'memory_locker.lost', params };
  return undefined;
}
