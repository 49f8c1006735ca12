// Load and faults, one after the other, and what must hold: no call lost that could be tried again, no
// job lost or run twice, no session broken.

import { setTimeout as delay } from 'node:timers/promises';
import {
  type Client,
  currentClient,
  type JobEnd,
  olderClient,
  read,
  SessionLost,
  submit,
  waitFor,
} from './clients.ts';
import type { World } from './world.ts';

export interface CampaignOptions {
  readonly world: World;
  /** How long Postgres, and how long Redis is away. */
  readonly awayMs: number;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface CampaignResult {
  readonly calls: Readonly<Record<string, number>>;
  readonly jobs: number;
  readonly jobEnds: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
  /** What clients saw and got over by trying again. */
  readonly failures: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

const CLIENTS = 4;
const JOB_MS = 150;
const SETTLE_MS = 1_000;

export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { world, signal } = options;
  const load = new Load(world.url);
  const running = load.run(signal);
  const faults: string[] = [];
  const violations: string[] = [];
  for (const { name, run } of FAULTS) {
    if (signal.aborted) break;
    await delay(SETTLE_MS);
    options.tell(name);
    try {
      await run(options);
    } catch (error) {
      violations.push(`${name}: ${error}`);
    }
    await delay(SETTLE_MS);
    faults.push(name);
  }
  load.stop();
  await running;
  violations.push(...load.violations, ...checkEffects(load, await world.effects()));
  const { calls, jobs, failures } = load;
  const jobEnds = countBy([...jobs.values()], ({ end }) => end?.state ?? 'lost');
  return { calls, jobs: jobs.size, jobEnds, faults, failures, violations };
}

interface Fault {
  readonly name: string;
  run(options: CampaignOptions): Promise<void>;
}

const FAULTS: readonly Fault[] = [
  {
    name: 'rolling restart of all gateways',
    async run({ world }) {
      for (const { part } of world.gateways) {
        if (!(await part.end())) throw new Error(`${part.name} did not exit with 0`);
        await part.start();
      }
    },
  },
  {
    name: 'kill -9 of a gateway',
    async run({ world }) {
      const [gateway] = world.gateways;
      await gateway?.part.kill();
      await delay(SETTLE_MS);
      await gateway?.part.start();
    },
  },
  {
    name: 'kill -9 of a node',
    async run({ world }) {
      const [node] = world.nodes;
      await node?.kill();
      await delay(SETTLE_MS);
      await node?.start();
    },
  },
  {
    name: 'rolling restart of all nodes',
    async run({ world }) {
      for (const node of world.nodes) {
        if (!(await node.end())) throw new Error(`${node.name} did not exit with 0`);
        await node.start();
      }
    },
  },
  { name: 'Postgres away', run: ({ world, awayMs }) => away(world.postgres, awayMs) },
  { name: 'Redis away', run: ({ world, awayMs }) => away(world.redis, awayMs) },
];

async function away(engine: World['postgres'], ms: number): Promise<void> {
  await engine.kill();
  await delay(ms);
  await engine.restart();
}

interface Job {
  readonly id: string;
  readonly end: JobEnd | undefined;
}

class Load {
  readonly calls: Record<string, number> = {};
  readonly failures: Record<string, number> = {};
  readonly jobs = new Map<string, Job>();
  readonly violations: string[] = [];
  readonly done = new Set<string>();
  readonly #url: string;
  #isStopped = false;

  constructor(url: string) {
    this.#url = url;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(signal: AbortSignal): Promise<void> {
    const clients = await Promise.all(
      Array.from({ length: CLIENTS }, (_, index) =>
        index % 2 === 0 ? currentClient(this.#url) : olderClient(this.#url),
      ),
    );
    const mayGoOn = () => !this.#isStopped && !signal.aborted;
    await Promise.all(
      clients.flatMap((client, index) => [
        this.#loop(mayGoOn, (round) => this.#read(client, `read-${index}-${round}`)),
        this.#loop(mayGoOn, (round) => this.#job(client, `job-${index}-${round}`)),
      ]),
    );
  }

  async #loop(mayGoOn: () => boolean, act: (round: number) => Promise<void>): Promise<void> {
    for (let round = 0; mayGoOn(); round += 1) {
      await act(round).catch((error: unknown) => {
        const what = error instanceof SessionLost ? 'a session was lost' : 'given up';
        this.violations.push(`${what}: ${error}`);
      });
      await delay(10);
    }
  }

  async #read(client: Client, id: string): Promise<void> {
    await read(client, id, (why) => this.#failed(why));
    this.calls[client.revision] = (this.calls[client.revision] ?? 0) + 1;
    this.done.add(id);
  }

  async #job(client: Client, id: string): Promise<void> {
    const jobId = await submit(client, id, JOB_MS);
    this.jobs.set(id, { id: jobId, end: undefined });
    this.jobs.set(id, { id: jobId, end: await waitFor(client, jobId) });
  }

  #failed(why: string): void {
    const kind = why.slice(0, 60);
    this.failures[kind] = (this.failures[kind] ?? 0) + 1;
  }
}

/** What the agents did against what the clients got as answers. */
function checkEffects({ done, jobs }: Load, effects: readonly string[]): string[] {
  const runs = new Map<string, number>();
  for (const id of effects) runs.set(id, (runs.get(id) ?? 0) + 1);
  const found: string[] = [];
  for (const id of done) if (!runs.has(id)) found.push(`${id} was answered and never ran`);
  for (const [id, { end }] of jobs) {
    const count = runs.get(id) ?? 0;
    if (count > 1) found.push(`${id} ran ${count} times`);
    if (!end) found.push(`${id} was accepted and has no end`);
    if (end?.state === 'succeeded' && count === 0) found.push(`${id} succeeded and never ran`);
    // A job whose node died in the middle of it says so; nothing else may fail.
    if (end?.state === 'failed' && end.error?.details?.sent === false)
      found.push(`${id} was not sent, and was not tried again: ${JSON.stringify(end.error)}`);
  }
  return found;
}

function countBy<T>(values: readonly T[], keyOf: (value: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[keyOf(value)] = (counts[keyOf(value)] ?? 0) + 1;
  return counts;
}
