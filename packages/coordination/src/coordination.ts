import { FabricError, type Json } from '@starloom/core';
import type { StoreWarning } from './coordination-store.ts';
import { expiredLease } from './feed/log-event.ts';
import { AGENTS, SESSIONS } from './partitions.ts';
import type { RpcConnection } from './rpc/peer.ts';
import { RpcPeer } from './rpc.ts';
import { type CoordinationOptions, createServices, type Services } from './services.ts';
import { dueSession } from './session/session-end.ts';
import { inBatches } from './support/in-batches.ts';

export interface Coordination {
  /** The services themselves, for callers in this process. */
  readonly services: Services;
  /** Set while the store cannot do its work. */
  readonly failure: FabricError | undefined;
  /** A client that can send requests; close it when it is gone. */
  connect(connection: RpcConnection): RpcPeer;
  /** Starts to run expired timers, such as those of agents that missed their heartbeat. */
  start(): void;
  /** Runs expired timers once, now. */
  sweep(): Promise<void>;
  /** Does a small piece of work in the store; rejects when it cannot, else returns its warnings. */
  check(): Promise<readonly StoreWarning[]>;
  /** Closes all clients. The caller closes the store. */
  close(): Promise<void>;
}

const SWEEPS_PER_BEAT = 4;
const SWEEP_MS = { least: 25, most: 1_000 };

export function createCoordination(options: CoordinationOptions): Coordination {
  const services = createServices(options);
  const { heartbeatIntervalMs, log, feeds, history } = services;
  const sweeper = new Sweeper(services);
  const peers = new Set<RpcPeer>();
  let timer: NodeJS.Timeout | undefined;
  const sweepEveryMs = Math.min(
    SWEEP_MS.most,
    Math.max(SWEEP_MS.least, heartbeatIntervalMs / SWEEPS_PER_BEAT),
  );
  const sweepAndLog = () => {
    if (services.store.failure) return;
    sweeper.sweep().catch((error: unknown) => {
      log.warn({ error: FabricError.from(error) }, 'coordination: a sweep failed');
    });
  };
  return {
    services,
    get failure() {
      return services.store.failure;
    },
    connect(connection) {
      const peer = new RpcPeer(services, connection, () => peers.delete(peer));
      peers.add(peer);
      return peer;
    },
    start() {
      timer ??= setInterval(sweepAndLog, sweepEveryMs).unref();
    },
    sweep: () => sweeper.sweep(),
    check: () => services.store.check(),
    async close() {
      clearInterval(timer);
      await sweeper.idle();
      await Promise.all([...peers].map((peer) => peer.close()));
      await feeds.close();
      await history.close();
    },
  };
}

type SweeperOptions = Pick<
  Services,
  'store' | 'clock' | 'log' | 'agents' | 'presence' | 'timers' | 'ending'
>;

const PAGE = 500;
const LOOK_THROUGH_MS = 60_000;

/**
 * Runs expired timers: of lost agents and of sessions whose time is over. It follows the logs in which
 * the store reports them, and now and then looks through everything, so that nothing stays undone
 * when a process dies. Any number of processes may sweep at once.
 */
class Sweeper {
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
      const lease = expiredLease(event);
      if (lease) await presence.retire(lease.resource, lease.token, 'heartbeat_missed');
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
