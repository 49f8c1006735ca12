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

/** Is it of a type and by an author that were asked for? */
export function passes({ event }: StoredEvent, { authors, types }: EventFilter): boolean {
  if (types && !types.includes(typeOf(event))) return false;
  return !authors || authors.includes(String(fieldsOf(event).agent_id));
}

/** The event with its version and time, when it passes the filter. */
export function filterEvent(stored: StoredEvent, filter: EventFilter): JsonObject | undefined {
  if (!passes(stored, filter)) return undefined;
  const { event, version, at } = stored;
  const { keys } = filter;
  const fields = fieldsOf(event);
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
