// Gateways, their engine and their agent, with all that can go wrong around them.

import { setTimeout as delay } from 'node:timers/promises';
import { openEngine, temporaryFolder } from '@starloom/testkit';
import type { Random } from '../coordination/random.ts';
import { TcpProxy } from '../coordination/tcp-proxy.ts';
import { mountSmallDisk } from '../disk/small-disk.ts';
import type { Door } from './door.ts';
import { FlakyAgent } from './flaky-agent.ts';
import { GatewayProcess } from './gateway-process.ts';

export const ENGINES = ['sqlite', 'postgres'] as const;
export type EngineName = (typeof ENGINES)[number];

/** Resolves when it is over; then everything is up again, if not yet well. */
export type Fault = () => Promise<void>;

export interface World extends AsyncDisposable {
  readonly name: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly agent: FlakyAgent;
  readonly doors: readonly [Door, ...Door[]];
  readonly faults: Readonly<Record<string, Fault>>;
  /** Calls back when a gateway ends by itself. */
  onDeath(listener: (why: string) => void): void;
}

const LEASE_MS = 2_000;
const DOWN_MS = 300;
const FULL_MS = 700;
const DISK_MEGABYTES = 192;

export function openWorld(engine: EngineName, random: Random): Promise<World> {
  return engine === 'postgres' ? openPostgresWorld(random) : openSqliteWorld(random);
}

/** Of a gateway that is broken: it ends by itself. */
export interface Mortal {
  readonly diesAfterMs?: number;
}

/** One gateway with its file, on a small disk of its own where we may make one. */
export async function openSqliteWorld(random: Random, mortal: Mortal = {}): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const disk = mountSmallDisk(folder.path, DISK_MEGABYTES);
  if (typeof disk !== 'string') opened.use(disk);
  const agent = opened.use(await FlakyAgent.open(random.fork()));
  const jobs = { kind: 'sqlite' };
  const gateway = opened.use(
    await GatewayProcess.start({ jobs, stateFolder: folder.path, leaseMs: LEASE_MS, ...mortal }),
  );
  const kept = opened.move();
  return {
    name: 'sqlite',
    versions: {},
    agent,
    doors: [gateway.door],
    onDeath: deathsOf([gateway]),
    faults: {
      ...gatewayFaults([gateway], random),
      ...(typeof disk !== 'string' && {
        async fill_disk() {
          disk.fill();
          await delay(FULL_MS);
          disk.empty();
        },
      }),
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Two gateways share one Postgres; each client talks to either. */
async function openPostgresWorld(random: Random): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const postgres = opened.use(await openEngine('postgres'));
  const wire = opened.use(await TcpProxy.open(postgres.port));
  const agent = opened.use(await FlakyAgent.open(random.fork()));
  const url = `postgres://postgres@127.0.0.1:${wire.port}/postgres`;
  const settings = { jobs: { kind: 'postgres', url }, stateFolder: folder.path, leaseMs: LEASE_MS };
  const first = opened.use(await GatewayProcess.start(settings));
  const second = opened.use(await GatewayProcess.start(settings));
  const kept = opened.move();
  return {
    name: 'postgres',
    versions: { postgres: postgres.version },
    agent,
    doors: [first.door, second.door],
    onDeath: deathsOf([first, second]),
    faults: {
      ...gatewayFaults([first, second], random),
      async kill_postgres() {
        await postgres.kill();
        await delay(DOWN_MS);
        await postgres.restart();
      },
      cut_postgres: async () => wire.cut(),
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function gatewayFaults(
  gateways: readonly [GatewayProcess, ...GatewayProcess[]],
  random: Random,
): Readonly<Record<string, Fault>> {
  const any = () => random.pick(gateways);
  return {
    kill_gateway: () => any().crash(),
    pause_gateway: () => any().pause(LEASE_MS * 2),
    cut_streams: async () => any().wire.cut(),
  };
}

function deathsOf(gateways: readonly GatewayProcess[]) {
  return (listener: (why: string) => void) => {
    for (const gateway of gateways) gateway.onDeath = listener;
  };
}
