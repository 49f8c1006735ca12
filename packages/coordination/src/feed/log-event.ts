import type { Json, JsonObject } from '@starloom/core';
import { fromHolder } from '../agents/caller.ts';
import type { StoredEvent } from '../coordination-store.ts';
import { isJsonObject } from '../json/json.ts';

/** An event of a log as the object it is; ours and the engine's all are. */
export function fieldsOf(event: Json): JsonObject {
  return isJsonObject(event) ? event : {};
}

export function typeOf(event: Json): string {
  return String(fieldsOf(event).type);
}

/** Does the event report the grant of this ticket? Any grant counts while the ticket is not known. */
export function isTurnOf(event: Json, ticket: string | undefined): boolean {
  const fields = fieldsOf(event);
  return fields.type === 'lock.granted' && (ticket === undefined || fields.ticket === ticket);
}

/** The lease that the log says was lost because its time was over. */
export function expiredLease(event: Json): { resource: string; token: number } | undefined {
  const { type, reason, resource, token } = fieldsOf(event);
  if (type !== 'lock.lost' || reason !== 'expired') return undefined;
  return { resource: String(resource), token: Number(token) };
}

/**
 * An event of a session's log as clients see it, pushed or read. Stores know holders and tokens;
 * the contract knows agents, their epochs, and lock tokens.
 */
export function toSessionEvent({ event }: StoredEvent): JsonObject {
  const fields = fieldsOf(event);
  if (typeof fields.holder !== 'string') return fields;
  const { holder, token = 0, ...rest } = fields;
  const { agentId, epoch } = fromHolder(fields.holder);
  const isByAnotherAgent = rest.agent_id !== undefined;
  const named = isByAnotherAgent ? { holder: agentId } : { agent_id: agentId, epoch };
  return { ...rest, ...named, lock_token: token };
}
