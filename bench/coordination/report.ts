// What a run says, in the shape that every measuring command of ours prints.

import type { MeasuringReport } from '../command.ts';
import type { Origin } from '../origin.ts';
import { median, round, sum } from '../statistics.ts';
import { type FanOutFigures, toFanOutFigures } from './fan-out-figures.ts';
import { type Goal, toGoals } from './goals.ts';
import { CELLS, type CellName, type TargetName } from './plan.ts';
import type { Measured, MeasuredTarget, Tried } from './run.ts';
import type { UpdateSlice } from './update-target.ts';

export interface UpdateFigures {
  readonly updates_per_second: number;
  /** CPU time per update of the process that did it. */
  readonly cpu_us?: number;
}

export interface Figures {
  readonly updates: Partial<Record<CellName, Partial<Record<TargetName, UpdateFigures>>>>;
  readonly fan_out: Partial<Record<TargetName, FanOutFigures>>;
  readonly resume?: { readonly events: number; readonly p50_ms: number; readonly most_ms: number };
}

export interface Report extends MeasuringReport, Origin {
  readonly name: 'bench:coordination';
  readonly failures: readonly string[];
  readonly figures: Figures;
  /** What was asked for, on an idle machine; missing it is no failure. */
  readonly goals: readonly Goal[];
}

/** Every target of updates, two of the fan-out, and the resume. */
const CHECKS = 12;

export function toReport(measured: Measured, origin: Origin): Report {
  const outcomes = [
    ...measured.updates.map(outcomeOf),
    ...measured.fanOuts.map(({ name, results }) => outcomeOfTried(`fan_out ${name}`, results)),
    ...(measured.resume ? [outcomeOfTried('resume', [measured.resume])] : []),
  ];
  const failures = outcomes.filter((outcome) => outcome !== 'passed');
  const figures = toFigures(measured);
  const ratios = { ...toRatios(measured.updates), ...toFanOutRatio(figures.fan_out) };
  return {
    name: 'bench:coordination',
    passed: outcomes.length - failures.length,
    failed: failures.length,
    skipped: CHECKS - outcomes.length,
    failures,
    figures,
    ratios,
    goals: toGoals(figures, ratios),
    ...origin,
    versions: { ...origin.versions, ...measured.versions },
  };
}

/** `passed`, or what went wrong. */
function outcomeOf({ cell, name, slices }: MeasuredTarget): string {
  const failure = slices.find((slice) => slice.failure !== undefined)?.failure;
  if (failure !== undefined) return `${cell} ${name}: ${failure}`;
  return sum(slices.map(({ updates }) => updates)) > 0 ? 'passed' : `${cell} ${name}: no update`;
}

function outcomeOfTried(name: string, results: readonly Tried<unknown>[]): string {
  const failed = results.find((tried) => 'failure' in tried);
  return failed ? `${name}: ${failed.failure}` : 'passed';
}

function toFigures({ updates, fanOuts, resume, sizes }: Measured): Figures {
  const cells = CELLS.flatMap((cell) => {
    const targets = updates.filter((target) => target.cell === cell);
    const figures = targets.flatMap(({ name, slices }) => {
      const of = toUpdateFigures(slices);
      return of ? [[name, of] as const] : [];
    });
    return figures.length > 0 ? [[cell, Object.fromEntries(figures)] as const] : [];
  });
  const resumed = resume && 'result' in resume ? resume.result.resumedMs : [];
  return {
    updates: Object.fromEntries(cells),
    fan_out: toFanOutFigures({ fanOuts, sizes }),
    ...(resumed.length > 0 && {
      resume: {
        events: sizes.missedEvents,
        p50_ms: round(median(resumed) ?? 0, 1),
        most_ms: round(Math.max(...resumed), 1),
      },
    }),
  };
}

function toUpdateFigures(slices: readonly UpdateSlice[]): UpdateFigures | undefined {
  const perSecond = median(slices.map(rateOf));
  const updates = sum(slices.map((slice) => slice.updates));
  if (perSecond === undefined || updates === 0) return undefined;
  const cpu = slices.flatMap(({ cpuMicroseconds }) => cpuMicroseconds ?? []);
  return {
    updates_per_second: round(perSecond, 0),
    ...(cpu.length === slices.length && { cpu_us: round(sum(cpu) / updates, 1) }),
  };
}

/** The median over the rounds of what ours reached beside the bare one in the same round. */
function toRatios(updates: readonly MeasuredTarget[]): Record<string, number> {
  const slicesOf = (cell: CellName, name: TargetName) =>
    updates.find((target) => target.cell === cell && target.name === name)?.slices ?? [];
  const ratios: Record<string, number> = {};
  for (const cell of CELLS) {
    const bare = slicesOf(cell, 'bare');
    const pairs = slicesOf(cell, 'starloom').flatMap((slice, index) => {
      const other = bare[index];
      return other && other.updates > 0 ? rateOf(slice) / rateOf(other) : [];
    });
    const ratio = median(pairs);
    if (ratio !== undefined) ratios[`starloom_over_bare.${cell}`] = round(ratio, 3);
  }
  return ratios;
}

function rateOf({ updates, seconds }: UpdateSlice): number {
  return updates / seconds;
}

/** Of times, so below 1 ours is the faster. */
function toFanOutRatio({ starloom, bare }: Figures['fan_out']): Record<string, number> {
  if (!starloom || !bare) return {};
  const ratio = starloom.last_delivery_p50_ms / bare.last_delivery_p50_ms;
  return { 'starloom_over_bare.fan_out.last_delivery_p50_ms': round(ratio, 3) };
}
