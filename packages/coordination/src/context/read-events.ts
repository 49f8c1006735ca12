import type { JsonObject } from '@starloom/core';
import type { CoordinationStore } from '../coordination-store.ts';
import { fromTheFuture } from './context-errors.ts';
import { type EventFilter, filterEvent } from './event-filter.ts';

export interface FilteredPage {
  readonly events: readonly JsonObject[];
  readonly cursor: number;
  readonly snapshot_required?: true;
}

const PAGE = 500;
/** Of one answer: a client that wants more reads on. */
const MOST_SIZE = 4 * 1024 * 1024;

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
): Promise<FilteredPage> {
  const { version } = await store.read(partition, []);
  if (after !== undefined && after > version) throw fromTheFuture(version);
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
      if (events.length === limit || size >= MOST_SIZE) return { events, cursor: stored.version };
    }
    if (page.events.length < PAGE) return { events, cursor: page.cursor };
    cursor = page.cursor;
  }
}
