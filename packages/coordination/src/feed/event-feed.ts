// One reader per partition and process, however many follow it. A follower gets every event after
// its cursor, in order and once. What it has not taken yet lies in the store, not in a queue of its
// own: memory per follower does not grow, and one that lags too far is told of the gap instead.

import { setTimeout } from 'node:timers/promises';
import { type CoordinationStore, FabricError, type Log, type StoredEvent } from '@starloom/core';

export interface Follower {
  /** Follow from here; by default from now on. */
  readonly after?: number | undefined;
  /** How many versions it may lag once it has caught up. */
  readonly backlog: number;
  /** The next event waits until this settles. A rejection ends the following. */
  readonly deliver: (event: StoredEvent) => Promise<void> | void;
  /** Events up to `cursor` cannot be delivered (any more): take a snapshot. */
  readonly gap: (cursor: number) => Promise<void> | void;
}

export interface Following {
  /** Where it began. */
  readonly cursor: number;
  /** Nothing is delivered after this. */
  stop(): void;
}

interface FeedDeps {
  readonly store: CoordinationStore;
  readonly log: Log;
}

const PAGE = 500;
const RECENT_EVENTS = 1_024;
const RETRY_MS = 250;

export class EventFeeds {
  readonly #deps: FeedDeps;
  readonly #feeds = new Map<string, Feed>();

  constructor(deps: FeedDeps) {
    this.#deps = deps;
  }

  async follow(partition: string, follower: Follower): Promise<Following> {
    let feed = this.#feeds.get(partition);
    if (feed === undefined) {
      feed = new Feed(partition, this.#deps, () => this.#feeds.delete(partition));
      this.#feeds.set(partition, feed);
    }
    return await feed.add(follower);
  }

  /** Partitions that somebody follows. */
  get size(): number {
    return this.#feeds.size;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.close()));
  }
}

class Feed {
  readonly #partition: string;
  readonly #deps: FeedDeps;
  readonly #onClose: () => void;
  readonly #readers = new Set<Reader>();
  readonly #opened: Promise<() => Promise<void>>;
  /** All events after `#recentFrom` up to `#head`, both versions. */
  #recent: StoredEvent[] = [];
  #recentFrom = 0;
  #head = 0;
  #reading: Promise<void> | undefined;
  #hinted = false;
  #closed = false;
  #joining = 0;

  constructor(partition: string, deps: FeedDeps, onClose: () => void) {
    this.#partition = partition;
    this.#deps = deps;
    this.#onClose = onClose;
    this.#opened = this.#open();
  }

  get head(): number {
    return this.#head;
  }

  async add(follower: Follower): Promise<Following> {
    this.#joining += 1;
    try {
      await this.#opened;
      if ((follower.after ?? 0) > this.#head) await this.#read();
      const reader = new Reader(this, follower);
      this.#readers.add(reader);
      void reader.run(this.#deps.log).finally(() => {
        this.#readers.delete(reader);
        this.#closeIfIdle();
      });
      return { cursor: reader.start, stop: () => reader.stop() };
    } finally {
      this.#joining -= 1;
      this.#closeIfIdle();
    }
  }

  /** The events after a cursor: none when there are none yet, `undefined` on a gap. */
  async next(
    cursor: number,
  ): Promise<{ events: readonly StoredEvent[]; cursor: number } | undefined> {
    if (cursor > this.#head) return undefined;
    if (cursor >= this.#recentFrom) {
      return { events: after(this.#recent, cursor), cursor: this.#head };
    }
    try {
      const page = await this.#deps.store.events(this.#partition, cursor, PAGE);
      return page.gap ? undefined : page;
    } catch (error) {
      this.#warn(error);
      await setTimeout(RETRY_MS, undefined, { ref: false });
      return { events: [], cursor };
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    for (const reader of this.#readers) reader.stop();
    const unwatch = await this.#opened.catch(() => undefined);
    await unwatch?.();
  }

  async #open(): Promise<() => Promise<void>> {
    const { store } = this.#deps;
    const unwatch = await store.watch(this.#partition, () => void this.#read());
    const { version } = await store.read(this.#partition, []);
    this.#head = version;
    this.#recentFrom = version;
    return unwatch;
  }

  #read(): Promise<void> {
    this.#hinted = true;
    this.#reading ??= this.#readPages().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readPages(): Promise<void> {
    try {
      await this.#opened;
      while (this.#hinted && !this.#closed) {
        this.#hinted = false;
        await this.#readPage();
      }
    } catch (error) {
      this.#warn(error);
      await setTimeout(RETRY_MS, undefined, { ref: false });
      if (!this.#closed) queueMicrotask(() => void this.#read());
    }
  }

  #warn(thrown: unknown): void {
    const error = FabricError.from(thrown);
    this.#deps.log.warn({ partition: this.#partition, error }, 'feed: could not read; tries again');
  }

  async #readPage(): Promise<void> {
    const page = await this.#deps.store.events(this.#partition, this.#head, PAGE);
    if (page.gap) {
      this.#recent = [];
      this.#recentFrom = page.cursor;
    } else {
      this.#recent.push(...page.events);
      const surplus = this.#recent.length - RECENT_EVENTS;
      if (surplus > 0) this.#recentFrom = this.#recent.splice(0, surplus).at(-1)?.version ?? 0;
    }
    this.#head = page.cursor;
    if (page.events.length === PAGE) this.#hinted = true;
    for (const reader of this.#readers) reader.wake();
  }

  #closeIfIdle(): void {
    if (this.#joining > 0 || this.#readers.size > 0) return;
    this.close().catch((error: unknown) => {
      this.#deps.log.warn({ error: FabricError.from(error) }, 'feed: could not stop watching');
    });
  }
}

class Reader {
  readonly start: number;
  readonly #feed: Feed;
  readonly #follower: Follower;
  #stopped = false;
  #caughtUp = false;
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(feed: Feed, follower: Follower) {
    this.#feed = feed;
    this.#follower = follower;
    this.start = follower.after ?? feed.head;
  }

  wake(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  stop(): void {
    this.#stopped = true;
    this.wake();
  }

  async run(log: Log): Promise<void> {
    try {
      let cursor = this.start;
      while (!this.#stopped) cursor = await this.#step(cursor);
    } catch (error) {
      this.#stopped = true;
      log.debug({ error: FabricError.from(error) }, 'feed: a follower is gone');
    }
  }

  /** Delivers what comes after the cursor, or waits for it; the new cursor. */
  async #step(cursor: number): Promise<number> {
    const isTooFar = this.#caughtUp && this.#feed.head - cursor > this.#follower.backlog;
    const page = isTooFar ? undefined : await this.#feed.next(cursor);
    if (page === undefined) {
      const { head } = this.#feed;
      await this.#follower.gap(head);
      return head;
    }
    for (const event of page.events) {
      if (this.#stopped) return cursor;
      await this.#follower.deliver(event);
    }
    if (page.cursor > cursor) return page.cursor;
    if (this.#feed.head === cursor && !this.#stopped) {
      this.#caughtUp = true;
      this.#waiting = Promise.withResolvers();
      await this.#waiting.promise;
    }
    return cursor;
  }
}

function after(events: readonly StoredEvent[], cursor: number): readonly StoredEvent[] {
  if ((events.at(-1)?.version ?? 0) <= cursor) return [];
  return events.slice(events.findIndex(({ version }) => version > cursor));
}
