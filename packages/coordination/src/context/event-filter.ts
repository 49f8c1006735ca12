import type { JsonObject } from '@starloom/core';
import type { StoredEvent } from '../coordination-store.ts';
import { toSessionEvent } from '../feed/session-event.ts';
import { CONTEXT_UPDATE, contextEventSchema } from './context-event.ts';

export interface EventFilter {
  /** Prefixes of keys; those of an update that match none are left out. */
  readonly keys?: readonly string[] | undefined;
  readonly authors?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
}

/** The event with its version and time, when it passes the filter. */
export function filterEvent(stored: StoredEvent, filter: EventFilter): JsonObject | undefined {
  const { version, at } = stored;
  const { keys } = filter;
  const fields = toSessionEvent(stored);
  if (!passes(fields, filter)) return undefined;
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

/** Is it of a type and by an author that were asked for? */
function passes({ type, agent_id }: JsonObject, { authors, types }: EventFilter): boolean {
  if (types && !types.includes(String(type))) return false;
  return !authors || authors.includes(String(agent_id));
}
