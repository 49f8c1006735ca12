// One turn after the other, in slices: loop after loop, round after round, so that whatever drifts on
// the machine hits both alike and every round gives one pair to compare.

import { temporaryFolder } from '@starloom/testkit';
import type { CommandContext } from '../command.ts';
import { rotated } from '../rotated.ts';
import { openGenerateTextLoop } from './generate-text-loop.ts';
import type { Conversation, Loop } from './loop.ts';
import { LOOPS, type LoopName, TURN_CELLS, TURNS_PER_SESSION, type TurnCell } from './plan.ts';
import { openStarloomLoop } from './starloom-loop.ts';

export interface TurnOptions {
  /** Measured per cell and loop. */
  readonly seconds: number;
  readonly sliceMs: number;
  /** Slices per cell and loop that do not count. */
  readonly warmupRounds: number;
}

export interface TurnSlice {
  readonly latenciesMs: readonly number[];
  /** What went wrong; it ended the slice. */
  readonly failure?: string;
}

/** By cell, then by loop: one slice a round. */
export type MeasuredTurns = ReadonlyMap<string, Readonly<Record<LoopName, readonly TurnSlice[]>>>;

const OPEN = {
  starloom: openStarloomLoop,
  generate_text: openGenerateTextLoop,
} as const satisfies Record<LoopName, (options: never) => Promise<Loop>>;

export async function measureTurns(
  options: TurnOptions,
  { signal, tell }: CommandContext,
): Promise<MeasuredTurns> {
  const measured = new Map<string, Record<LoopName, readonly TurnSlice[]>>();
  for (const cell of TURN_CELLS) {
    tell(`turns, ${cell.name}`);
    measured.set(cell.name, await measureCell(cell, options, signal));
  }
  return measured;
}

async function measureCell(
  cell: TurnCell,
  { seconds, sliceMs, warmupRounds }: TurnOptions,
  signal: AbortSignal,
): Promise<Record<LoopName, readonly TurnSlice[]>> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const slices: Record<LoopName, TurnSlice[]> = { starloom: [], generate_text: [] };
  const loops = new Map<LoopName, Loop>();
  for (const name of LOOPS) {
    const stateFolder = cell.kept === 'disk' ? folder.path : undefined;
    loops.set(name, opened.use(await OPEN[name]({ work: cell.work, stateFolder })));
  }
  const rounds = warmupRounds + Math.max(1, Math.ceil((seconds * 1000) / sliceMs));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, loop] of rotated([...loops], round)) {
      signal.throwIfAborted();
      const slice = await runSlice(loop, cell, sliceMs);
      if (round >= warmupRounds || slice.failure !== undefined) slices[name].push(slice);
    }
  }
  return slices;
}

async function runSlice(loop: Loop, { session }: TurnCell, sliceMs: number): Promise<TurnSlice> {
  const latenciesMs: number[] = [];
  const end = performance.now() + sliceMs;
  try {
    while (latenciesMs.length === 0 || performance.now() < end) {
      const conversation = loop.open();
      if (session === 'continued') await conversation.turn();
      const turns = session === 'new' ? 1 : TURNS_PER_SESSION - 1;
      for (let turn = 0; turn < turns; turn += 1) latenciesMs.push(await timed(conversation));
    }
    return { latenciesMs };
  } catch (error) {
    return { latenciesMs, failure: String(error) };
  }
}

async function timed(conversation: Conversation): Promise<number> {
  const started = performance.now();
  await conversation.turn();
  return performance.now() - started;
}
