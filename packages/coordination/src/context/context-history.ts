// The past of a context. The log holds every update; a version is read by applying the updates
// after the last snapshot before it. Writers make a snapshot now and then. When that fails, no
// process makes it: then there is more to apply, or an old version cannot be read.

import { FabricError, type Json, RecentMap } from '@starloom/core';
import { z } from 'zod';
import type { Entry, StoredEvent } from '../coordination-store.ts';
import { jsonSchema } from '../json/json.ts';
import { partitionOf } from '../partitions.ts';
import { failure } from '../reasons.ts';
import type { Services } from '../services.ts';
import type { Access } from '../session/session-access.ts';
import { contextEventSchema, isContextUpdate } from './context-event.ts';
import { type ContextView, readContext, replayUpdate, toView } from './context-operations.ts';

type ContextHistoryOptions = Pick<Services, 'store' | 'limits' | 'budgets' | 'log'>;

const PAGE = 500;
const SNAPSHOTS = 'snapshots';
const REMEMBERED = 10_000;
/** Several times as often as the log of a partition is renewed by its size. */
const BYTES_PER_SNAPSHOT = 4 * 1024 * 1024;

const bodySchema = z.array(z.tuple([z.string(), jsonSchema, z.number()]));
const versionsSchema = z.array(z.number());

export class ContextHistory {
  readonly #options: ContextHistoryOptions;
  /** By session: the last one, and how many bytes of updates came since. */
  readonly #lastSnapshot = new RecentMap<{ readonly version: number; bytes: number }>(REMEMBERED);
  readonly #saving = new Set<Promise<void>>();

  constructor(options: ContextHistoryOptions) {
    this.#options = options;
  }

  /** The context as it was when the session was at `version`. */
  async at({ sessionId, partition }: Access, version: number, keys?: readonly string[]) {
    const { store } = this.#options;
    const now = await store.read(partition);
    if (version > now.version) {
      throw failure('cursor_from_the_future', { current_version: now.version });
    }
    const present = toView(now);
    if (version >= present.version) return { ...only(present, keys), cursor: version };
    const base = await this.#snapshotBefore(sessionId, version);
    const context = new Map(base.entries);
    let { version: head } = base;
    for await (const event of this.#updates(partition, base.version, version)) {
      replayUpdate(context, event.version, contextEventSchema.parse(event.event));
      head = event.version;
    }
    return { ...only({ version: head, entries: context }, keys), cursor: version };
  }

  /** Called after each update with its size; makes a snapshot when it is time. */
  noteUpdate({ sessionId, partition, meta }: Access, version: number, bytes: number): void {
    const last = this.#lastSnapshot.get(sessionId) ?? { version: 0, bytes: 0 };
    last.bytes += bytes;
    this.#lastSnapshot.set(sessionId, last);
    const isDue = version - last.version >= this.#options.limits.snapshot_every;
    if (!isDue && last.bytes < BYTES_PER_SNAPSHOT) return;
    this.#lastSnapshot.set(sessionId, { version, bytes: 0 });
    this.#options.budgets.note(meta.principal, last.bytes);
    const saving = this.#save(sessionId, partition).catch((thrown: unknown) => {
      const error = FabricError.from(thrown);
      this.#options.log.warn({ session_id: sessionId, error }, 'no snapshot of the context');
    });
    this.#saving.add(saving);
    void saving.finally(() => this.#saving.delete(saving));
  }

  async close(): Promise<void> {
    await Promise.all(this.#saving);
  }

  async *#updates(partition: string, after: number, upTo: number): AsyncIterable<StoredEvent> {
    const { store } = this.#options;
    for (let cursor = after; cursor < upTo; ) {
      const page = await store.events(partition, cursor, PAGE);
      if (page.gap) throw failure('not_found/version', { version: upTo });
      for (const event of page.events) {
        if (event.version > upTo) return;
        if (isContextUpdate(event)) yield event;
      }
      if (page.cursor === cursor) return;
      cursor = page.cursor;
    }
  }

  async #snapshotBefore(sessionId: string, version: number): Promise<ContextView> {
    const { store } = this.#options;
    const partition = partitionOf.history(sessionId);
    const list = (await store.read(partition, [SNAPSHOTS])).entries.get(SNAPSHOTS)?.value ?? [];
    const best = versionsSchema.parse(list).findLast((candidate) => candidate <= version);
    if (best === undefined) return { version: 0, entries: new Map() };
    const key = snapshotKey(best);
    const body = (await store.read(partition, [key])).entries.get(key)?.value;
    return body === undefined ? { version: 0, entries: new Map() } : fromBody(body, best);
  }

  async #save(sessionId: string, sessionPartition: string): Promise<void> {
    const { store, limits } = this.#options;
    const partition = partitionOf.history(sessionId);
    const view = await readContext(store, sessionPartition);
    const entry = (await store.read(partition, [SNAPSHOTS])).entries.get(SNAPSHOTS);
    const versions = versionsSchema.parse(entry?.value ?? []);
    if (versions.includes(view.version)) return;
    const all = [...versions, view.version].sort((a, b) => a - b);
    const surplus = all.splice(0, Math.max(0, all.length - limits.snapshots_kept));
    await store.commit(partition, {
      writes: [
        { kind: 'put', key: SNAPSHOTS, value: all },
        { kind: 'put', key: snapshotKey(view.version), value: toBody(view) },
        ...surplus
          .filter((version) => version !== view.version)
          .map((version) => ({ kind: 'delete', key: snapshotKey(version) }) as const),
      ],
      ifKeys: new Map([[SNAPSHOTS, entry?.version ?? 0]]),
    });
  }
}

export function toBody({ entries }: ContextView): Json {
  return [...entries].map(([key, { value, version }]) => [key, value, version]);
}

export function fromBody(body: Json, version: number): ContextView {
  const entries = bodySchema
    .parse(body)
    .map(([key, value, at]): [string, Entry] => [key, { value, version: at }]);
  return { version, entries: new Map(entries) };
}

function only({ version, entries }: ContextView, keys: readonly string[] | undefined): ContextView {
  if (keys === undefined) return { version, entries };
  const wanted = new Set(keys);
  return { version, entries: new Map([...entries].filter(([key]) => wanted.has(key))) };
}

function snapshotKey(version: number): string {
  return `at/${version}`;
}
