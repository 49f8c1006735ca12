// One run: short slices, target after target, round after round, so that whatever drifts on the
// machine hits all targets alike and every round gives one pair of figures to compare. Then what
// takes the gateway alone: fan-out and resuming.

import { FabricError } from '@starloom/core';
import { engines, requireProgram } from '@starloom/testkit';
import type { CommandContext } from '../command.ts';
import type { Cores } from '../cores.ts';
import { rotated } from '../rotated.ts';
import type { FanOutResult, ResumeResult } from './clients/work.ts';
import { openEmbeddedPart } from './embedded-part.ts';
import { type GatewayPart, openGatewayPart } from './gateway-part.ts';
import type { PartName, Sizes, TargetName } from './plan.ts';
import { openRedisPart } from './redis-part.ts';
import type { Part, UpdateSlice, UpdateTarget } from './update-target.ts';

export interface RunOptions {
  /** Measured per target. */
  readonly seconds: number;
  /** Before that, per target. */
  readonly warmup: number;
  readonly sliceMs: number;
  readonly parts: readonly PartName[];
  readonly sizes: Sizes;
  readonly cores: Cores | undefined;
}

export interface Measured {
  readonly updates: readonly MeasuredTarget[];
  readonly fanOuts: readonly MeasuredFanOut[];
  readonly resume?: Tried<ResumeResult>;
  readonly sizes: Sizes;
  readonly versions: Readonly<Record<string, string>>;
}

export interface MeasuredTarget extends Pick<UpdateTarget, 'cell' | 'name'> {
  /** One a round. */
  readonly slices: readonly UpdateSlice[];
}

export interface MeasuredFanOut {
  readonly name: TargetName;
  /** One a round. */
  readonly results: readonly Tried<FanOutResult>[];
}

export type Tried<Result> = { readonly result: Result } | { readonly failure: string };

export async function run(options: RunOptions, context: CommandContext): Promise<Measured> {
  const { sizes } = options;
  const { tell, signal } = context;
  await using opened = new AsyncDisposableStack();
  const parts: Part[] = [];
  let gateway: GatewayPart | undefined;
  for (const name of options.parts) {
    tell(`${name}: starting what it needs`);
    const part = await openPart(name, options, context);
    if (part === undefined) continue;
    parts.push(opened.use(part));
    if ('fanOuts' in part) gateway = part;
  }
  const updates = await measureUpdates(parts, options, context);
  const versions = Object.assign({}, ...parts.map((part) => part.versions));
  if (gateway === undefined) return { updates, fanOuts: [], sizes, versions };
  const fanOuts = await measureFanOuts(gateway, options, context);
  tell(`${sizes.missedEvents} missed events, resumed`);
  const resume = await attempt(gateway.resume(signal), signal);
  return { updates, fanOuts, resume, sizes, versions };
}

async function openPart(
  name: PartName,
  { cores, sizes }: RunOptions,
  { signal, tell }: CommandContext,
): Promise<Part | GatewayPart | undefined> {
  switch (name) {
    case 'embedded':
      return await openEmbeddedPart();
    case 'gateway':
      return await openGatewayPart({ cores, sizes, signal });
    case 'redis': {
      const program = await requireProgram(engines.redis.program);
      if (program.found) return await openRedisPart();
      tell(`redis: skipped, ${program.reason}; ${program.howToInstall}`);
      return undefined;
    }
  }
}

async function measureUpdates(
  parts: readonly Part[],
  { seconds, warmup, sliceMs }: RunOptions,
  { signal, tell }: CommandContext,
): Promise<MeasuredTarget[]> {
  const targets = parts.flatMap((part) => part.targets);
  const measured = targets.map((target) => ({ target, slices: [] as UpdateSlice[] }));
  const warmUps = roundsIn(warmup, sliceMs);
  const rounds = Math.max(1, roundsIn(seconds, sliceMs));
  tell(`updates: ${warmUps} rounds of ${targets.length} targets to warm up, then ${rounds}`);
  for (let round = 0; round < warmUps + rounds; round += 1) {
    for (const { target, slices } of rotated(measured, round)) {
      signal.throwIfAborted();
      const slice = await target.measure({ measureMs: sliceMs, signal });
      if (round >= warmUps || slice.failure !== undefined) slices.push(slice);
    }
  }
  return measured.map(({ target: { cell, name }, slices }) => ({ cell, name, slices }));
}

async function measureFanOuts(
  gateway: GatewayPart,
  { seconds, warmup, sliceMs, sizes }: RunOptions,
  { signal, tell }: CommandContext,
): Promise<MeasuredFanOut[]> {
  tell(`fan-out to ${sizes.subscribers} subscribers`);
  const measured = gateway.fanOuts.map((target) => ({
    target,
    results: [] as Tried<FanOutResult>[],
  }));
  const warmUps = roundsIn(warmup, sliceMs);
  const rounds = Math.max(1, roundsIn(seconds, sliceMs));
  for (let round = 0; round < warmUps + rounds; round += 1) {
    for (const { target, results } of rotated(measured, round)) {
      const tried = await attempt(target.measure({ measureMs: sliceMs, signal }), signal);
      if (round >= warmUps || 'failure' in tried) results.push(tried);
    }
  }
  return measured.map(({ target: { name }, results }) => ({ name, results }));
}

/** What fails is part of the report; what was stopped is not. */
async function attempt<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Tried<Result>> {
  try {
    return { result: await work };
  } catch (thrown) {
    signal.throwIfAborted();
    return { failure: FabricError.from(thrown).message };
  }
}

function roundsIn(seconds: number, sliceMs: number): number {
  return Math.ceil((seconds * 1000) / sliceMs);
}
