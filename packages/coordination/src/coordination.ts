import { FabricError } from '@starloom/core';
import type { StoreWarning } from './coordination-store.ts';
import type { RpcConnection } from './rpc/connection.ts';
import { RpcPeer } from './rpc.ts';
import { type CoordinationOptions, createServices, type Services } from './services.ts';
import { Sweeper } from './sweeper.ts';

export interface Coordination {
  /** The services themselves, for callers in this process. */
  readonly services: Services;
  /** Set while the store cannot do its work. */
  readonly failure: FabricError | undefined;
  /** A client that can send requests; close it when it is gone. */
  connect(connection: RpcConnection): RpcPeer;
  /** Starts to run expired timers, such as those of agents that missed their heartbeat. */
  start(): void;
  /** Sees to it once, now. */
  sweep(): Promise<void>;
  /** Lets the store work; rejects when it cannot, and says what to see to when it can. */
  check(): Promise<readonly StoreWarning[]>;
  /** Lets go of all clients. The store is the caller's to close. */
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
