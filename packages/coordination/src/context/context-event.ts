import type { JsonObject } from '@starloom/core';
import { z } from 'zod';
import type { CoordinationStore, StoredEvent } from '../coordination-store.ts';
import { toSessionEvent, typeOf } from '../feed/log-event.ts';
import { jsonObjectSchema } from '../json/json.ts';
import { failure } from '../reasons.ts';
import { UPDATE_OPERATIONS } from './context-operations.ts';

export const CONTEXT_UPDATE = 'context.update';

/** An update of the context as it stands in the log of its session. */
export const contextEventSchema = z.object({
  type: z.literal(CONTEXT_UPDATE),
  agent_id: z.string(),
  op: z.enum(UPDATE_OPERATIONS),
  /** New values by key; for `increment` the amounts. */
  update: jsonObjectSchema,
  removed: z.array(z.string()).default([]),
  lock_token: z.number().optional(),
  cause: z.string().optional(),
  trace_id: z.string().optional(),
});
export type ContextEvent = z.infer<typeof contextEventSchema>;

export function isContextUpdate({ event }: StoredEvent): boolean {
  return typeOf(event) === CONTEXT_UPDATE;
}

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

function passes({ type, agent_id }: JsonObject, { authors, types }: EventFilter): boolean {
  if (types && !types.includes(String(type))) return false;
  return !authors || authors.includes(String(agent_id));
}

const PAGE = 500;
/** Of one answer: a client that wants more reads on. */
const MAX_SIZE = 4 * 1024 * 1024;

/**
 * Events after a cursor, or all that there still are, which pass a filter; a gap is said, not passed
 * over.
 */
export async function readEvents(
  store: CoordinationStore,
  partition: string,
  after: number | undefined,
  limit: number,
  filter: EventFilter,
): Promise<{ events: readonly JsonObject[]; cursor: number; snapshot_required?: true }> {
  const { version } = await store.read(partition, []);
  if (after !== undefined && after > version) {
    throw failure('cursor_from_the_future', { current_version: version });
  }
  const events: JsonObject[] = [];
  let size = 0;
  for (let cursor = after ?? 0, isFirst = after === undefined; ; isFirst = false) {
    const page = await store.events(partition, cursor, PAGE);
    if (page.gap && !isFirst) {
      if (events.length > 0) return { events, cursor };
      return { events, cursor: version, snapshot_required: true };
    }
    for (const stored of page.events) {
      const event = filterEvent(stored, filter);
      if (event === undefined) continue;
      events.push(event);
      size += stored.size;
      if (events.length === limit || size >= MAX_SIZE) return { events, cursor: stored.version };
    }
    if (page.events.length < PAGE) return { events, cursor: page.cursor };
    cursor = page.cursor;
  }
}
