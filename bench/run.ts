// One run: short slices, target after target, round after round, so that whatever drifts on the
// machine hits all targets alike and every round gives one pair of figures to compare.

import type { CommandContext } from './command.ts';
import type { Cores } from './cores.ts';
import type { SliceResult } from './load/slice.ts';
import { CELLS, type Cell, LOAD_CELLS, type TargetName } from './plan.ts';
import { residentMegabytes } from './process-usage.ts';
import { rotated } from './rotated.ts';
import { openWorld, type ProxyUnderTest, type Target, type World } from './world.ts';

export interface RunOptions {
  /** Measured per cell and target. */
  readonly seconds: number;
  /** Before that, per target. */
  readonly warmup: number;
  readonly sliceMs: number;
  readonly rampMs: number;
  readonly startups: number;
  readonly targets: readonly TargetName[];
  readonly cores: Cores | undefined;
}

export interface Measured {
  /** By cell, then by target: one result a round. */
  readonly cells: ReadonlyMap<string, ReadonlyMap<TargetName, readonly SliceResult[]>>;
  readonly proxies: readonly MeasuredProxy[];
}

export interface MeasuredProxy {
  readonly name: ProxyUnderTest['name'];
  readonly startupsMs: readonly number[];
  readonly idleMegabytes: number | undefined;
  readonly afterMegabytes: number | undefined;
}

export async function run(options: RunOptions, context: CommandContext): Promise<Measured> {
  const { tell, signal } = context;
  tell('starting the upstream, the proxies and the load generator');
  await using world = await openWorld({ ...options, signal });
  const idle = world.proxies.map(({ server }) => residentMegabytes(server.pid));
  await warmUp(world, options, context);
  const cells = new Map<string, Map<TargetName, SliceResult[]>>();
  for (const cell of CELLS) cells.set(cell.name, await measure(cell, world, options, context));
  const proxies = world.proxies.map(({ name, startupsMs, server }, index) => ({
    name,
    startupsMs,
    idleMegabytes: idle[index],
    afterMegabytes: residentMegabytes(server.pid),
  }));
  return { cells, proxies };
}

async function warmUp(world: World, options: RunOptions, context: CommandContext): Promise<void> {
  const rounds = roundsIn(options.warmup, options.sliceMs);
  context.tell(`warm-up: ${rounds} rounds of ${world.targets.length} targets`);
  for (let round = 0; round < rounds; round += 1) {
    const cell = LOAD_CELLS[round % LOAD_CELLS.length] ?? LOAD_CELLS[0];
    for (const target of world.targets) await runOne(cell, target, world, options, context);
  }
}

async function measure(
  cell: Cell,
  world: World,
  options: RunOptions,
  context: CommandContext,
): Promise<Map<TargetName, SliceResult[]>> {
  const rounds = Math.max(1, roundsIn(options.seconds, options.sliceMs));
  context.tell(`${cell.name}: ${rounds} rounds of ${world.targets.length} targets`);
  const results = new Map(world.targets.map(({ name }) => [name, [] as SliceResult[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (const target of rotated(world.targets, round)) {
      results.get(target.name)?.push(await runOne(cell, target, world, options, context));
    }
  }
  return results;
}

function runOne(
  cell: Cell,
  target: Target,
  { load }: World,
  { sliceMs, rampMs }: RunOptions,
  { signal }: CommandContext,
): Promise<SliceResult> {
  const { url, pid } = target;
  const { connections } = cell;
  const call = target.call(cell);
  return load.run({ url, call, connections, rampMs, measureMs: sliceMs, pid }, signal);
}

function roundsIn(seconds: number, sliceMs: number): number {
  return Math.ceil((seconds * 1000) / sliceMs);
}
