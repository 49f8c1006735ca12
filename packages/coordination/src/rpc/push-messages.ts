// Events of a session's log as notifications for clients, as text: what all subscribers of a session
// are told of an event is written once, however many they are.

import type { StoredEvent } from '@starloom/core';
import { fromHolder } from '../agents/caller.ts';
import { CONTEXT_UPDATE } from '../context/context-event.ts';
import { type EventFilter, filterEvent, passes } from '../context/event-filter.ts';
import { fieldsOf, typeOf } from '../feed/log-event.ts';
import type { JsonObject } from '../json/json.ts';

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
): string | undefined {
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
  return toNotification(method, { ...base, ...fields, ...(state && { state }), ...returned });
}

export interface Subscriber {
  readonly session_id: string;
  readonly subscription_id: string;
  readonly filter: EventFilter;
}

/** What a subscriber is told of an event, when it is of the kind it asked for. */
export function toSubscriptionPush(
  { session_id, subscription_id, filter }: Subscriber,
  stored: StoredEvent,
): string | undefined {
  const told = filter.keys === undefined ? wholeOf(stored, filter) : partOf(stored, filter);
  if (told === undefined) return undefined;
  const { head, tail } = told;
  return `${head}"session_id":${JSON.stringify(session_id)},"subscription_id":"${subscription_id}",${tail}`;
}

/** A notification without what differs from subscriber to subscriber. */
interface Told {
  readonly head: string;
  readonly tail: string;
}

const TOLD = new WeakMap<StoredEvent, Told>();

function wholeOf(stored: StoredEvent, filter: EventFilter): Told | undefined {
  if (!passes(stored, filter)) return undefined;
  const known = TOLD.get(stored);
  if (known) return known;
  const told = partOf(stored, {});
  if (told) TOLD.set(stored, told);
  return told;
}

function partOf(stored: StoredEvent, filter: EventFilter): Told | undefined {
  const fields = filterEvent(stored, filter);
  if (fields === undefined) return undefined;
  const { version: cursor } = stored;
  if (fields.type !== CONTEXT_UPDATE)
    return toTold('context_coordinator.event', { ...fields, cursor });
  const { type: _, lock_token: __, at: ___, ...update } = fields;
  return toTold('context_coordinator.update', { ...update, cursor });
}

function toTold(method: string, params: JsonObject): Told {
  return {
    head: `{"jsonrpc":"2.0","method":"${method}","params":{`,
    tail: `${JSON.stringify(params).slice(1)}}`,
  };
}

export function toNotification(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}

function toLockNotice(
  event: StoredEvent['event'],
  base: { readonly session_id: string; readonly cursor: number },
): string | undefined {
  const { type, holder, token, ...fields } = fieldsOf(event);
  const { agentId: agent_id } = fromHolder(String(holder));
  const params = { ...base, ...fields, agent_id, lock_token: token ?? 0 };
  if (type === 'lock.granted') return toNotification('memory_locker.granted', params);
  if (type === 'lock.lost') return toNotification('memory_locker.lost', params);
  return undefined;
}
