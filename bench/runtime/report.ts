// What a run says, in the shape that every measuring command of ours prints. Ratios of turns and
// sessions are of throughput: more than 1 is faster than the AI SDK. That of starts is of time.

import type { MeasuringReport } from '../command.ts';
import type { Origin } from '../origin.ts';
import { median, quantile, round, sum } from '../statistics.ts';
import type { SessionsResult } from './measure-sessions.ts';
import type { TurnSlice } from './measure-turns.ts';
import { LOOPS, type LoopName } from './plan.ts';
import type { Measured } from './run.ts';

export interface TurnFigures {
  readonly turns_per_second: number;
  readonly p50_us: number;
  readonly p99_us: number;
}

export interface SessionFigures {
  readonly finished: number;
  readonly ms: number;
  readonly cpu_us_per_turn: number;
  readonly in_flight_kb: number;
  readonly after_kb: number;
  readonly rss_mb: number;
}

export interface Figures {
  readonly turns: Readonly<Record<string, Partial<Record<LoopName, TurnFigures>>>>;
  /** Of so many at once, per session where it says so. */
  readonly sessions: { readonly count: number } & Partial<Record<LoopName, SessionFigures>>;
  readonly start_ms: { readonly first: number; readonly starloom: number; readonly node: number };
}

export interface RuntimeReport extends MeasuringReport, Origin {
  readonly name: 'bench:runtime';
  readonly failures: readonly string[];
  readonly figures: Figures;
}

export function toReport(measured: Measured, origin: Origin): RuntimeReport {
  const outcomes = [...turnOutcomes(measured), ...sessionOutcomes(measured)];
  const failures = outcomes.flatMap((failure) => failure ?? []);
  return {
    name: 'bench:runtime',
    passed: outcomes.length - failures.length,
    failed: failures.length,
    skipped: 0,
    failures,
    figures: toFigures(measured),
    ratios: toRatios(measured),
    ...origin,
  };
}

/** Why each cell of a loop failed; `undefined` where every answer was right. */
function turnOutcomes({ turns }: Measured): (string | undefined)[] {
  return [...turns].flatMap(([cell, loops]) =>
    LOOPS.map((name) => {
      const failure = loops[name].find((slice) => slice.failure !== undefined)?.failure;
      return failure && `${cell} ${name}: ${failure}`;
    }),
  );
}

function sessionOutcomes({ sessions, atOnce }: Measured): (string | undefined)[] {
  return LOOPS.map((name) => {
    const short = atOnce[name].find(({ finished }) => finished < sessions);
    return short && `sessions ${name}: ${short.finished} of ${sessions}; ${short.failure}`;
  });
}

function toFigures({ turns, sessions, atOnce, starts }: Measured): Figures {
  return {
    turns: Object.fromEntries([...turns].map(([cell, loops]) => [cell, perLoop(loops, toTurns)])),
    sessions: { count: sessions, ...perLoop(atOnce, toSessions) },
    start_ms: {
      first: round(starts.firstMs, 0),
      starloom: round(median(starts.starloomMs) ?? 0, 0),
      node: round(median(starts.nodeMs) ?? 0, 0),
    },
  };
}

function toTurns(slices: readonly TurnSlice[]): TurnFigures | undefined {
  const latencies = slices.flatMap(({ latenciesMs }) => latenciesMs);
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
  if (p50 === undefined || p99 === undefined) return undefined;
  return {
    turns_per_second: round(median(slices.map(throughput)) ?? 0, 0),
    p50_us: round(p50 * 1000, 0),
    p99_us: round(p99 * 1000, 0),
  };
}

function toSessions(results: readonly SessionsResult[]): SessionFigures | undefined {
  const of = (value: (result: SessionsResult) => number) => median(results.map(value)) ?? 0;
  if (results.length === 0) return undefined;
  return {
    finished: Math.min(...results.map(({ finished }) => finished)),
    ms: round(
      of(({ ms }) => ms),
      0,
    ),
    cpu_us_per_turn: round(
      of(({ cpuMs, finished }) => (cpuMs * 1000) / Math.max(1, finished)),
      0,
    ),
    in_flight_kb: round(
      of(({ inFlightBytes }) => inFlightBytes / 1024),
      1,
    ),
    after_kb: round(
      of(({ afterBytes }) => afterBytes / 1024),
      1,
    ),
    rss_mb: round(
      of(({ residentMegabytes }) => residentMegabytes),
      0,
    ),
  };
}

function toRatios({ turns, sessions, atOnce, starts }: Measured): Record<string, number> {
  const ratios: Record<string, number> = {};
  const note = (name: string, over: readonly number[], base: readonly number[]) => {
    const ratio = median(over.flatMap((value, index) => dividedBy(value, base[index])));
    if (ratio !== undefined) ratios[name] = round(ratio, 3);
  };
  for (const [cell, { starloom, generate_text }] of turns) {
    const name = `starloom_over_generate_text.${cell}`;
    note(name, starloom.map(throughput), generate_text.map(throughput));
  }
  const perSecond = ({ finished, ms }: SessionsResult) => finished / ms;
  const { starloom, generate_text } = atOnce;
  const name = `starloom_over_generate_text.sessions.c${sessions}`;
  note(name, starloom.map(perSecond), generate_text.map(perSecond));
  note('starloom_over_node.start', starts.starloomMs, starts.nodeMs);
  return ratios;
}

function dividedBy(value: number, base: number | undefined): number | [] {
  return base ? value / base : [];
}

function throughput({ latenciesMs }: TurnSlice): number {
  return latenciesMs.length === 0 ? 0 : (latenciesMs.length * 1000) / sum(latenciesMs);
}

function perLoop<Result, Value>(
  results: Readonly<Record<LoopName, Result>>,
  toValue: (result: Result) => Value | undefined,
): Partial<Record<LoopName, Value>> {
  const values: Partial<Record<LoopName, Value>> = {};
  for (const name of LOOPS) {
    const value = toValue(results[name]);
    if (value !== undefined) values[name] = value;
  }
  return values;
}
