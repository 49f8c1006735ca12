// Sees to what time has made due: lost agents and sessions whose time is over. It follows the logs
// in which the store tells of them, and now and then looks through everything, so that nothing stays
// undone because a process died over it. Any number of processes may sweep at once.

import { FabricError, type Json } from '@starloom/core';
import { expiredLease } from './feed/log-event.ts';
import { AGENTS, SESSIONS } from './partitions.ts';
import type { Services } from './services.ts';
import { dueSession } from './session/session-timers.ts';
import { inBatches } from './support/in-batches.ts';

type SweeperOptions = Pick<
  Services,
  'store' | 'clock' | 'log' | 'agents' | 'presence' | 'timers' | 'ending'
>;

const PAGE = 500;
const LOOK_THROUGH_MS = 60_000;

export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #cursors = new Map<string, number>();
  #lookedThroughAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  sweep(): Promise<void> {
    this.#running ??= this.#sweep().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Settles when no sweep is under way. */
  async idle(): Promise<void> {
    await this.#running?.catch(() => undefined);
  }

  async #sweep(): Promise<void> {
    const { store, clock, presence, ending } = this.#options;
    await store.tick();
    const now = clock.monotonic();
    if (now - this.#lookedThroughAt >= LOOK_THROUGH_MS) {
      await this.#lookThrough();
      this.#lookedThroughAt = now;
    }
    await this.#readOn(AGENTS, async (event) => {
      const life = expiredLease(event);
      if (life) await presence.retire(life.resource, life.token, 'heartbeat_missed');
    });
    await this.#readOn(SESSIONS, async (event) => {
      const sessionId = dueSession(event);
      if (sessionId !== undefined) await ending.due(sessionId);
    });
  }

  async #lookThrough(): Promise<void> {
    const { store, agents, presence, timers, ending } = this.#options;
    for (const partition of [AGENTS, SESSIONS]) {
      if (this.#cursors.has(partition)) continue;
      this.#cursors.set(partition, (await store.read(partition, [])).version);
    }
    await inBatches(await agents.overdue(), ({ agent_id, epoch }) =>
      this.#try(() => presence.retire(agent_id, epoch, 'heartbeat_missed')),
    );
    await inBatches(await timers.overdue(), (id) => this.#try(() => ending.due(id)));
  }

  /** What fails is left to the next time that everything is looked through. */
  async #readOn(partition: string, handle: (event: Json) => Promise<void>): Promise<void> {
    const { store } = this.#options;
    for (;;) {
      const cursor = this.#cursors.get(partition) ?? 0;
      const page = await store.events(partition, cursor, PAGE);
      if (page.gap) this.#lookedThroughAt = Number.NEGATIVE_INFINITY;
      await inBatches(page.events, ({ event }) => this.#try(() => handle(event)));
      this.#cursors.set(partition, page.cursor);
      if (page.events.length < PAGE) return;
    }
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log.warn({ error: FabricError.from(error) }, 'sweep: left for later');
    }
  }
}
