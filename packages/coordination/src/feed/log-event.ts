import type { Json, JsonObject } from '@starloom/core';
import { isJsonObject } from '../json/json.ts';

/** An event of a log as the object it is; ours and the engine's all are. */
export function fieldsOf(event: Json): JsonObject {
  return isJsonObject(event) ? event : {};
}

export function typeOf(event: Json): string {
  return String(fieldsOf(event).type);
}

/** Does the log say that this ticket had its turn? Any ticket's turn as long as it is not known. */
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
