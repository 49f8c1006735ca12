// One run: short slices, target after target, round after round, so that whatever drifts on the
// machine hits all targets alike and every round gives one pair of figures to compare.

import { setTimeout as delay } from 'node:timers/promises';
import { FabricError } from '@starloom/core';
import type { CommandContext } from './command.ts';
import type { Cores } from './cores.ts';
import type { SliceResult } from './load/slice.ts';
import { CELLS, type Cell, LOAD_CELLS, type TargetName } from './plan.ts';
import { openForeignLoad, residentMegabytes } from './process-usage.ts';
import { rotated } from './rotated.ts';
import { round } from './statistics.ts';
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
  readonly command?: string;
  /** How often a disturbed slice is measured again. */
  readonly repeats: number;
  readonly soak?: Soak | undefined;
}

/** So many calls to `bare` and to `starloom`, then no call for so long. */
export interface Soak {
  readonly calls: number;
  readonly idleMs: number;
}

export interface Measured {
  /** By cell, then by target: one result a round. */
  readonly cells: ReadonlyMap<string, ReadonlyMap<TargetName, readonly MeasuredSlice[]>>;
  readonly proxies: readonly MeasuredProxy[];
}

export interface MeasuredSlice extends SliceResult {
  /** What programs that are no part of the run took of the machine meanwhile, in cores. */
  readonly foreignLoad?: number | undefined;
  /** How often it was measured before, and disturbed. */
  readonly repeats?: number;
}

/** In cores: with more than this, a slice is disturbed. */
export const MAX_FOREIGN_LOAD = 0.1;

export interface MeasuredProxy {
  readonly name: ProxyUnderTest['name'];
  readonly startupsMs: readonly number[];
  readonly idleMegabytes: number | undefined;
  readonly afterMegabytes: number | undefined;
  readonly soakedMegabytes: number | undefined;
}

export async function run(options: RunOptions, context: CommandContext): Promise<Measured> {
  const { tell, signal } = context;
  tell('starting the upstream, the proxies and the load generator');
  await using world = await openWorld({ ...options, signal, tell });
  const idle = world.proxies.map(({ server }) => residentMegabytes(server.pid));
  const soaked = await soak(world, options, context);
  await warmUp(world, options, context);
  const cells = new Map<string, Map<TargetName, SliceResult[]>>();
  for (const cell of CELLS) cells.set(cell.name, await measure(cell, world, options, context));
  const proxies = world.proxies.map(({ name, startupsMs, server }, index) => ({
    name,
    startupsMs,
    idleMegabytes: idle[index],
    afterMegabytes: residentMegabytes(server.pid),
    soakedMegabytes: soaked.get(name),
  }));
  return { cells, proxies };
}

/** Resident memory afterwards. Peers may need an hour for as many calls. */
async function soak(
  world: World,
  options: RunOptions,
  context: CommandContext,
): Promise<ReadonlyMap<TargetName, number | undefined>> {
  if (!options.soak) return new Map();
  const { calls, idleMs } = options.soak;
  const ours = world.targets.filter(({ name }) => name === 'bare' || name === 'starloom');
  for (const target of ours) {
    context.tell(`soak: ${calls} calls to ${target.name}`);
    for (let made = 0; made < calls; ) {
      const { latenciesMs, failure } = await runOne(LOAD_CELLS[0], target, world, options, context);
      if (failure !== undefined) throw new FabricError('UPSTREAM_ERROR', failure);
      made += latenciesMs.length;
    }
  }
  context.tell(`soak: idle for ${idleMs / 1000} seconds`);
  await delay(idleMs, undefined, { signal: context.signal });
  return new Map(ours.map(({ name, pid }) => [name, pid && residentMegabytes(pid)]));
}

async function warmUp(world: World, options: RunOptions, context: CommandContext): Promise<void> {
  const rounds = roundsIn(options.warmup, options.sliceMs);
  context.tell(`warm-up: ${rounds} rounds of ${world.targets.length} targets`);
  for (let round = 0; round < rounds; round += 1) {
    const cell = LOAD_CELLS[round % LOAD_CELLS.length] ?? LOAD_CELLS[0];
    for (const target of world.targets) {
      if (target.takes(cell)) await runOne(cell, target, world, options, context);
    }
  }
}

async function measure(
  cell: Cell,
  world: World,
  options: RunOptions,
  context: CommandContext,
): Promise<Map<TargetName, MeasuredSlice[]>> {
  const rounds = Math.max(1, roundsIn(options.seconds, options.sliceMs));
  const targets = world.targets.filter((target) => target.takes(cell));
  context.tell(`${cell.name}: ${rounds} rounds of ${targets.length} targets`);
  const results = new Map(targets.map(({ name }) => [name, [] as MeasuredSlice[]]));
  for (let count = 0; count < rounds; count += 1) {
    for (const target of rotated(targets, count)) {
      const slice = await undisturbed(options.repeats, () => {
        return withForeignLoad(() => runOne(cell, target, world, options, context));
      });
      results.get(target.name)?.push(slice);
    }
  }
  for (const [name, slices] of results) context.tell(toLoadLine(name, slices));
  return results;
}

/** Measures again while other programs disturb, so often at most; the least disturbed result. */
export async function undisturbed(
  mostRepeats: number,
  take: () => Promise<MeasuredSlice>,
): Promise<MeasuredSlice> {
  let best = await take();
  let repeats = 0;
  for (; loadOf(best) > MAX_FOREIGN_LOAD && repeats < mostRepeats; repeats += 1) {
    const next = await take();
    if (loadOf(next) < loadOf(best)) best = next;
  }
  return { ...best, repeats };
}

async function withForeignLoad(take: () => Promise<SliceResult>): Promise<MeasuredSlice> {
  const readLoad = openForeignLoad();
  const slice = await take();
  return { ...slice, foreignLoad: readLoad() };
}

function toLoadLine(name: TargetName, slices: readonly MeasuredSlice[]): string {
  const loads = slices.map(
    (slice) => `${round(loadOf(slice), 2)}${'*'.repeat(slice.repeats ?? 0)}`,
  );
  return `  ${name}: foreign load in cores, a star for each repeat: ${loads.join(' ')}`;
}

function loadOf({ foreignLoad = 0 }: MeasuredSlice): number {
  return foreignLoad;
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
