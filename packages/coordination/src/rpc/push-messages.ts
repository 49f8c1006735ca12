// Events of a session's log as notifications for clients, as text: what many receive alike of an
// event is written once, however many they are.

import type { JsonObject } from '@starloom/core';
import { fromHolder, toHolder } from '../agents/caller.ts';
import { CONTEXT_UPDATE, type EventFilter, filterEvent } from '../context/context-event.ts';
import type { StoredEvent } from '../coordination-store.ts';
import { fieldsOf, toSessionEvent, typeOf } from '../feed/log-event.ts';

/** Names of notices that connected members get without asking. */
const NOTICES: Readonly<Record<string, string>> = {
  'session.agent_disconnected': 'session_manager.agent_disconnected',
  'session.agent_joined': 'session_manager.agent_joined',
  'session.agent_returned': 'session_manager.agent_joined',
  'session.agent_left': 'session_manager.agent_left',
  'session.suspended': 'session_manager.state_changed',
  'session.resumed': 'session_manager.state_changed',
  'session.ended': 'session_manager.state_changed',
  'lock.granted': 'memory_locker.granted',
  'lock.lost': 'memory_locker.lost',
};

const STATES: Readonly<Record<string, string>> = {
  'session.suspended': 'suspended',
  'session.resumed': 'active',
  'session.ended': 'ended',
};

export function isNotice({ event }: StoredEvent): boolean {
  return typeOf(event) in NOTICES;
}

export function isOver({ event }: StoredEvent, agentId: string): boolean {
  const { type, agent_id } = fieldsOf(event);
  return type === 'session.ended' || (type === 'session.agent_left' && agent_id === agentId);
}

export function whyOver({ event }: StoredEvent): 'session_ended' | 'not_a_member' {
  return typeOf(event) === 'session.ended' ? 'session_ended' : 'not_a_member';
}

/** What a connection receives of an event, once for all members on it, by their present epochs. */
export function toNotice(
  sessionId: string,
  stored: StoredEvent,
  holders: readonly string[],
): string | undefined {
  const event = toSessionEvent(stored);
  const { type, ...fields } = event;
  const method = NOTICES[String(type)];
  if (method === undefined || !holders.some((holder) => isForHolder(holder, event)))
    return undefined;
  const base = { session_id: sessionId, cursor: stored.version };
  const state = STATES[String(type)];
  const returned = type === 'session.agent_returned' && { returned: true };
  return toNotification(method, { ...base, ...fields, ...(state && { state }), ...returned });
}

/** A lock event goes to its holder; any other event to all but the agent that it is about. */
function isForHolder(holder: string, { type, agent_id, epoch }: JsonObject): boolean {
  if (!String(type).startsWith('lock.')) return agent_id !== fromHolder(holder).agentId;
  return holder === toHolder(String(agent_id), Number(epoch));
}

export interface Subscriber {
  readonly session_id: string;
  readonly subscription_id: string;
  readonly filter: EventFilter;
}

/**
 * What a subscriber receives of an event, when it is of the kind it asked for. Subscriptions of one
 * id are to the same, so all of them receive the very same text.
 */
export function toSubscriptionPush(
  subscriber: Subscriber,
  stored: StoredEvent,
): string | undefined {
  const { subscription_id: id } = subscriber;
  if (latest.event !== stored) latest = { event: stored, texts: new Map() };
  let push = latest.texts.get(id);
  if (push === undefined) {
    push = { text: toText(subscriber, stored) };
    latest.texts.set(id, push);
  }
  return push.text;
}

interface PushText {
  readonly text: string | undefined;
}

/** Of the event that was sent last, by subscription id. */
let latest: { readonly event?: StoredEvent; readonly texts: Map<string, PushText> } = {
  texts: new Map(),
};

function toText(subscriber: Subscriber, stored: StoredEvent): string | undefined {
  const { session_id, subscription_id, filter } = subscriber;
  const { version: cursor } = stored;
  const fields = filterEvent(stored, filter);
  if (fields === undefined) return undefined;
  const base = { session_id, subscription_id };
  if (fields.type !== CONTEXT_UPDATE) {
    return toNotification('context_coordinator.event', { ...base, ...fields, cursor });
  }
  const { type: _, lock_token: __, at: ___, ...update } = fields;
  return toNotification('context_coordinator.update', { ...base, ...update, cursor });
}

export function toNotification(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}
