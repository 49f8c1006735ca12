// A plane to be proven, with all that can go wrong around it.

import { setTimeout as delay } from 'node:timers/promises';
import { type Engine, openEngine } from '@starloom/testkit';
import { GatewayProcess } from './gateway-process.ts';
import type { OpenLink } from './link.ts';
import type { Random } from './random.ts';
import { TcpProxy } from './tcp-proxy.ts';

export const STORES = ['embedded', 'redis'] as const;
export type StoreName = (typeof STORES)[number];

/** Resolves when it is over; then everything is up again, if not yet well. */
export type Fault = () => Promise<void>;

export interface World extends AsyncDisposable {
  readonly store: StoreName;
  /** Of the engine, where there is one. */
  readonly versions: Readonly<Record<string, string>>;
  readonly gateways: readonly [GatewayProcess, ...GatewayProcess[]];
  readonly faults: Readonly<Record<string, Fault>>;
  open(client: number): OpenLink;
  /** Ends what faults left behind. */
  heal(): void;
}

const HEARTBEAT_MS = 2_000;
const SLOW_MS = 40;
const SLOW_FOR_MS = 400;
const DOWN_MS = 200;

export async function openWorld(store: StoreName, random: Random): Promise<World> {
  return store === 'redis' ? await openRedisWorld(random) : await openEmbeddedWorld(random);
}

async function openEmbeddedWorld(random: Random): Promise<World> {
  const config = { kind: 'embedded', heartbeat_interval_ms: HEARTBEAT_MS };
  const gateway = await GatewayProcess.start(config);
  return {
    ...around([gateway], random, {}),
    store: 'embedded',
    versions: {},
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/** Two gateways share one Redis, each client talks to one of them. */
async function openRedisWorld(random: Random): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const redis = opened.use(await openEngine('redis'));
  const wire = opened.use(await TcpProxy.open(redis.port));
  const url = `redis://127.0.0.1:${wire.port}`;
  const config = { kind: 'redis', url, heartbeat_interval_ms: HEARTBEAT_MS };
  const first = opened.use(await GatewayProcess.start(config));
  const second = opened.use(await GatewayProcess.start(config));
  const kept = opened.move();
  return {
    ...around([first, second], random, redisFaults(redis, wire)),
    store: 'redis',
    versions: { redis: redis.version },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function around(
  gateways: readonly [GatewayProcess, ...GatewayProcess[]],
  random: Random,
  more: Readonly<Record<string, Fault>>,
) {
  const any = () => random.pick(gateways);
  const faults: Record<string, Fault> = {
    kill_gateway: () => any().crash(),
    cut_clients: async () => any().wire.cut(),
    hang_clients: async () => any().wire.hang(),
    slow_clients: () => slowDown(any().wire),
    ...more,
  };
  const heal = () => {
    for (const { wire } of gateways) wire.delay(0);
  };
  const open = (client: number): OpenLink => {
    return (gateways[client % gateways.length] ?? gateways[0]).open;
  };
  return { gateways, faults, heal, open };
}

function redisFaults(redis: Engine, wire: TcpProxy): Readonly<Record<string, Fault>> {
  return {
    async kill_redis() {
      await redis.kill();
      await delay(DOWN_MS);
      await redis.restart();
    },
    cut_redis: async () => wire.cut(),
    hang_redis: async () => wire.hang(),
    slow_redis: () => slowDown(wire),
  };
}

async function slowDown(wire: TcpProxy): Promise<void> {
  wire.delay(SLOW_MS);
  await delay(SLOW_FOR_MS);
  wire.delay(0);
}
