import { FabricError, type Log } from '@starloom/core';
import type { StoredEvent } from '../coordination-store.ts';

export interface Follower {
  /**
   * Events it has nothing to do with need not be delivered to it. Asked once per event for all who
   * follow with the same function.
   */
  readonly isFor?: ((event: StoredEvent) => boolean) | undefined;
  /** Follow from here; by default from now on. */
  readonly after?: number | undefined;
  /** How many versions it may lag once it has caught up. */
  readonly backlog: number;
  /** The next event waits until this settles. A rejection ends the following. */
  readonly deliver: (event: StoredEvent) => Promise<void> | void;
  /** Events up to `cursor` cannot be delivered (any more): take a snapshot. */
  readonly gap: (cursor: number) => Promise<void> | void;
}

export interface EventSource {
  /** How far the events are known. */
  readonly head: number;
  /** The events after a cursor: none when there are none yet, `undefined` on a gap. */
  next(cursor: number): Promise<{ events: readonly StoredEvent[]; cursor: number } | undefined>;
}

export interface FeedReaderDeps {
  readonly source: EventSource;
  readonly log: Log;
  readonly onEnd: () => void;
}

/**
 * Takes one follower through the events, at its own pace. One that is idle, because it has caught
 * up, is offered new events as they come; one that is busy finds them when it is ready for them.
 */
export class FeedReader {
  readonly start: number;
  readonly #follower: Follower;
  readonly #deps: FeedReaderDeps;
  #cursor: number;
  #isIdle = false;
  #isStopped = false;
  #hasCaughtUp = false;

  constructor(follower: Follower, deps: FeedReaderDeps) {
    this.#follower = follower;
    this.#deps = deps;
    this.start = follower.after ?? deps.source.head;
    this.#cursor = this.start;
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#deps.onEnd();
  }

  /**
   * Delivers the events that are stored, until it has caught up. It finds that out and becomes idle
   * in one turn: a caller that offers an event finds it idle or at work, never about to look once
   * more.
   */
  async run(): Promise<void> {
    if (this.#isStopped) return;
    this.#isIdle = false;
    try {
      do await this.#step();
      while (!this.#isStopped && this.#deps.source.head > this.#cursor);
      this.#isIdle = true;
      this.#hasCaughtUp = true;
    } catch (error) {
      this.#fail(error);
    }
  }

  /** To be called with every new event that is for it; one that is idle gets it in this turn. */
  offer(event: StoredEvent): void {
    if (!this.#isIdle || this.#isStopped || event.version <= this.#cursor) return;
    try {
      const delivery = this.#follower.deliver(event);
      this.#cursor = event.version;
      if (delivery) this.#goOnAfter(delivery);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Looks for itself, for instance because there was a gap. */
  wake(): void {
    if (this.#isIdle) void this.run();
  }

  #goOnAfter(delivery: Promise<void>): void {
    this.#isIdle = false;
    delivery.then(
      () => this.run(),
      (error: unknown) => this.#fail(error),
    );
  }

  async #step(): Promise<void> {
    const { source } = this.#deps;
    const isTooFar = this.#hasCaughtUp && source.head - this.#cursor > this.#follower.backlog;
    const page = isTooFar ? undefined : await source.next(this.#cursor);
    if (page === undefined) {
      this.#cursor = source.head;
      await this.#follower.gap(this.#cursor);
      return;
    }
    for (const event of page.events) {
      if (this.#isStopped) return;
      await this.#follower.deliver(event);
      this.#cursor = event.version;
    }
    if (page.cursor > this.#cursor) this.#cursor = page.cursor;
  }

  #fail(error: unknown): void {
    this.#deps.log.debug({ error: FabricError.from(error) }, 'feed: a follower is gone');
    this.stop();
  }
}
