import type { StoredEvent } from '@starloom/core';
import { fieldsOf, typeOf } from '../feed/log-event.ts';
import type { JsonObject } from '../json/json.ts';
import { CONTEXT_UPDATE, contextEventSchema } from './context-event.ts';

export interface EventFilter {
  /** Prefixes of keys; those of an update that match none are left out. */
  readonly keys?: readonly string[] | undefined;
  readonly authors?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
}

/** The event with its version and time, when it passes the filter. */
export function filterEvent(
  { event, version, at }: StoredEvent,
  { keys, authors, types }: EventFilter,
): JsonObject | undefined {
  const fields = fieldsOf(event);
  if (types && !types.includes(typeOf(event))) return undefined;
  if (authors && !authors.includes(String(fields.agent_id))) return undefined;
  if (keys === undefined || fields.type !== CONTEXT_UPDATE) return { ...fields, version, at };
  const isWanted = (key: string) => keys.some((prefix) => key.startsWith(prefix));
  const { update, removed } = contextEventSchema.parse(fields);
  const wanted = Object.entries(update).filter(([key]) => isWanted(key));
  const gone = removed.filter(isWanted);
  if (wanted.length + gone.length === 0) return undefined;
  return {
    ...fields,
    update: Object.fromEntries(wanted),
    ...(gone.length > 0 && { removed: gone }),
    version,
    at,
  };
}
