// One reader per partition and process, however many follow it. A follower gets every event after
// its cursor, in order and once. What it has not taken yet lies in the store, not in a queue of its
// own: memory per follower does not grow, and one that lags too far receives a gap instead.

import type { Follower } from './feed-reader.ts';
import { type FeedDeps, type Following, PartitionFeed } from './partition-feed.ts';

export type { Follower } from './feed-reader.ts';
export type { Following } from './partition-feed.ts';

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

  /** Partitions that have a follower. */
  get size(): number {
    return this.#feeds.size;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.close()));
  }
}
