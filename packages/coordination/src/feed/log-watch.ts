import type { Json } from '@starloom/core';
import type { EventFeeds, Following } from './event-feed.ts';

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
