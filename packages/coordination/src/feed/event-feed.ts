// One reader per partition and process, however many follow it. A follower gets every event after
// its cursor, in order and once. What it has not taken yet lies in the store, not in a queue of its
// own: memory per follower does not grow, and one that lags too far receives a gap instead.

import { setTimeout } from 'node:timers/promises';
import { FabricError, type Json, type Log } from '@starloom/core';
import type { CoordinationStore, EventPage, StoredEvent } from '../coordination-store.ts';
import { type EventSource, FeedReader, type Follower } from './feed-reader.ts';

export type { Follower } from './feed-reader.ts';

export class EventFeeds {
  readonly #deps: FeedDeps;
  readonly #feeds = new Map<string, PartitionFeed>();

  constructor(deps: FeedDeps) {
    this.#deps = deps;
  }

  async follow(partition: string, follower: Follower): Promise<Following> {
    let feed = this.#feeds.get(partition);
    if (feed === undefined) {
      feed = new PartitionFeed(partition, this.#deps, () => this.#feeds.delete(partition));
      this.#feeds.set(partition, feed);
    }
    return await feed.add(follower);
  }

  get size(): number {
    return this.#feeds.size;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.close()));
  }
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

type Interest = NonNullable<Follower['isFor']>;
const everyEvent: Interest = () => true;

const PAGE = 500;
const RETRY_MS = 250;

/** The events of one partition, read once for all its followers. */
class PartitionFeed implements EventSource {
  readonly #partition: string;
  readonly #deps: FeedDeps;
  readonly #onClose: () => void;
  /** By what they are for. */
  readonly #readers = new Map<Interest, Set<FeedReader>>();
  readonly #opened: Promise<() => Promise<void>>;
  #recent = new RecentEvents(0);
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
      const reader = this.#join(follower);
      void reader.run();
      return { cursor: reader.start, stop: () => reader.stop() };
    } finally {
      this.#joining -= 1;
      this.#closeIfIdle();
    }
  }

  async next(cursor: number) {
    const events = cursor <= this.#head ? this.#recent.after(cursor) : undefined;
    if (events) return { events, cursor: this.#head };
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
    for (const readers of this.#readers.values()) for (const reader of readers) reader.stop();
    const unwatch = await this.#opened.catch(() => undefined);
    await unwatch?.();
  }

  async #open(): Promise<() => Promise<void>> {
    const { store } = this.#deps;
    const unwatch = await store.watch(this.#partition, () => void this.#read());
    try {
      const { version } = await store.read(this.#partition, []);
      this.#head = version;
      this.#recent = new RecentEvents(version);
    } catch (error) {
      await unwatch();
      throw error;
    }
    return unwatch;
  }

  /** Settles when all is read that there was when it was called. */
  #read(): Promise<void> {
    this.#hinted = true;
    this.#reading ??= this.#readPages();
    return this.#reading;
  }

  async #readPages(): Promise<void> {
    try {
      await this.#opened.catch(() => undefined);
      while (this.#hinted && !this.#closed) {
        this.#hinted = false;
        await this.#readPage().catch((error: unknown) => this.#retry(error));
      }
    } finally {
      // At once, not in a later turn: a hint must find either a reader that sees it or none.
      this.#reading = undefined;
    }
  }

  async #retry(error: unknown): Promise<void> {
    this.#warn(error);
    this.#hinted = true;
    await setTimeout(RETRY_MS, undefined, { ref: false });
  }

  #warn(thrown: unknown): void {
    const error = FabricError.from(thrown);
    this.#deps.log.warn({ partition: this.#partition, error }, 'feed: could not read; tries again');
  }

  async #readPage(): Promise<void> {
    const page = await this.#deps.store.events(this.#partition, this.#head, PAGE);
    this.#recent.add(page);
    this.#head = page.cursor;
    if (page.events.length === PAGE) this.#hinted = true;
    if (page.gap) this.#wake();
    else for (const event of page.events) this.#offer(event);
  }

  #wake(): void {
    for (const readers of this.#readers.values()) for (const reader of readers) reader.wake();
  }

  /** All followers get one event before any gets the next: what all receive is made only once. */
  #offer(event: StoredEvent): void {
    for (const [isFor, readers] of this.#readers) {
      if (isFor(event)) for (const reader of readers) reader.offer(event);
    }
  }

  #join(follower: Follower): FeedReader {
    const { isFor = everyEvent } = follower;
    const readers = this.#readers.get(isFor) ?? new Set();
    this.#readers.set(isFor, readers);
    const onEnd = () => {
      readers.delete(reader);
      if (readers.size === 0) this.#readers.delete(isFor);
      this.#closeIfIdle();
    };
    const reader = new FeedReader(follower, { source: this, log: this.#deps.log, onEnd });
    readers.add(reader);
    return reader;
  }

  #closeIfIdle(): void {
    if (this.#joining > 0 || this.#readers.size > 0) return;
    this.close().catch((error: unknown) => {
      this.#deps.log.warn({ error: FabricError.from(error) }, 'feed: could not stop watching');
    });
  }
}

const MAX_EVENTS = 1_024;
const MAX_SIZE = 4 * 1024 * 1024;

/** The latest events of a partition without a gap, for followers that are only a little behind. */
export class RecentEvents {
  #events: StoredEvent[] = [];
  #size = 0;
  /** All events after this version are here. */
  #from: number;

  constructor(from: number) {
    this.#from = from;
  }

  add({ events, gap, cursor }: EventPage): void {
    if (gap) {
      this.#events = [];
      this.#size = 0;
      this.#from = cursor;
      return;
    }
    for (const event of events) {
      this.#events.push(event);
      this.#size += event.size;
    }
    this.#trim();
  }

  /** `undefined` when some of them are not here any more. */
  after(cursor: number): readonly StoredEvent[] | undefined {
    if (cursor < this.#from) return undefined;
    if ((this.#events.at(-1)?.version ?? 0) <= cursor) return [];
    return this.#events.slice(this.#events.findIndex(({ version }) => version > cursor));
  }

  #trim(): void {
    let surplus = 0;
    for (const { version, size } of this.#events) {
      if (this.#events.length - surplus <= MAX_EVENTS && this.#size <= MAX_SIZE) break;
      this.#size -= size;
      this.#from = version;
      surplus += 1;
    }
    this.#events.splice(0, surplus);
  }
}

/** Listens for certain events of a partition, from the moment it is opened. */
export class LogWatch implements Disposable {
  readonly #isNews: (event: Json) => boolean;
  #following: Following | undefined;
  #news = Promise.withResolvers<void>();

  private constructor(isNews: (event: Json) => boolean) {
    this.#isNews = isNews;
  }

  static async open(
    feeds: EventFeeds,
    partition: string,
    isNews: (event: Json) => boolean,
  ): Promise<LogWatch> {
    const watch = new LogWatch(isNews);
    watch.#following = await feeds.follow(partition, {
      backlog: Number.POSITIVE_INFINITY,
      deliver: ({ event }) => {
        if (watch.#isNews(event)) watch.#news.resolve();
      },
      gap: () => watch.#news.resolve(),
    });
    return watch;
  }

  /** Settles when there was such an event, or may have been, since this was last awaited. */
  async news(): Promise<void> {
    await this.#news.promise;
    this.#news = Promise.withResolvers();
  }

  [Symbol.dispose](): void {
    this.#following?.stop();
  }
}
