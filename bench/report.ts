// What a run says, in the shape that every measuring command of ours prints.

import type { SliceResult } from './load/slice.ts';
import type { Origin } from './origin.ts';
import { ALL_TARGETS, FIRST_EVENT_CELL, LOAD_CELLS, TARGETS, type TargetName } from './plan.ts';
import { MAX_FOREIGN_LOAD, type Measured, type MeasuredProxy, type MeasuredSlice } from './run.ts';
import { median, quantile, round, sum } from './statistics.ts';

export interface CellFigures {
  readonly requests_per_second: number;
  readonly p50_us: number;
  readonly p99_us: number;
  /** CPU time of the proxy per request, and the share of a core it used. */
  readonly cpu_us?: number;
  readonly busy?: number;
  /** What other programs took meanwhile, in cores, and how many slices they disturbed for good. */
  readonly foreign_load?: number;
  readonly disturbed_slices?: number;
  readonly repeated_slices?: number;
}

export type PerTarget<Value> = Partial<Record<TargetName, Value>>;

export interface Figures {
  readonly cells: Readonly<Record<string, PerTarget<CellFigures>>>;
  /** With one connection. */
  readonly first_event_ms: PerTarget<number>;
  /** From the start of the process to its first `tools/list`. */
  readonly startup_ms: PerTarget<number>;
  readonly rss_mb: PerTarget<Resident>;
}

export interface Resident {
  readonly idle: number;
  readonly after: number;
  /** After 100,000 calls and a minute idle. */
  readonly soaked?: number;
}

export interface Report extends Origin {
  readonly name: 'bench';
  /** Cells of a target in which every answer was right. */
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
  readonly figures: Figures;
  readonly ratios: Readonly<Record<string, number>>;
}

export function toReport(measured: Measured, origin: Origin): Report {
  const results = [...measured.cells].flatMap(([cell, targets]) =>
    [...targets].map(([target, slices]) => ({ name: `${cell} ${target}`, target, slices })),
  );
  const failures = results.flatMap(({ name, slices }) => failureOf(name, slices) ?? []);
  const isOwn = (target: TargetName) => TARGETS.some((own) => own === target);
  const all = measured.cells.size * TARGETS.length;
  const figures = toFigures(measured);
  return {
    name: 'bench',
    passed: results.length - failures.length,
    failed: failures.length,
    skipped: all - results.filter(({ target }) => isOwn(target)).length,
    failures,
    figures,
    ratios: { ...toRatios(measured), ...toOwnRatios(figures) },
    ...origin,
  };
}

function failureOf(name: string, slices: readonly SliceResult[]): string | undefined {
  const failed = sum(slices.map((slice) => slice.failed));
  const answered = sum(slices.map(({ latenciesMs }) => latenciesMs.length));
  if (failed === 0 && answered > 0) return undefined;
  const why = slices.find(({ failure }) => failure !== undefined)?.failure ?? 'no answer in time';
  return `${name}: ${failed} wrong answers beside ${answered} right ones; the first: ${why}`;
}

function toFigures({ cells, proxies }: Measured): Figures {
  return {
    cells: Object.fromEntries(
      LOAD_CELLS.map(({ name }) => [name, perTarget(cells.get(name), toCellFigures)]),
    ),
    first_event_ms: perTarget(cells.get(FIRST_EVENT_CELL.name), (slices) =>
      known(median(slices.flatMap(({ firstEventsMs }) => firstEventsMs)), 2),
    ),
    startup_ms: fromProxies(proxies, ({ startupsMs }) => known(median(laterOnes(startupsMs)), 0)),
    rss_mb: fromProxies(proxies, toResident),
  };
}

function toResident(proxy: MeasuredProxy): Resident | undefined {
  const { idleMegabytes: idle, afterMegabytes: after, soakedMegabytes: soaked } = proxy;
  if (idle === undefined || after === undefined) return undefined;
  return {
    idle: round(idle, 0),
    after: round(after, 0),
    ...(soaked !== undefined && { soaked: round(soaked, 0) }),
  };
}

function toCellFigures(slices: readonly MeasuredSlice[]): CellFigures | undefined {
  const latencies = slices.flatMap(({ latenciesMs }) => latenciesMs);
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
  const perSecond = median(slices.map(throughput));
  if (p50 === undefined || p99 === undefined || perSecond === undefined) return undefined;
  const cpu = slices.flatMap(({ cpuMicroseconds }) => cpuMicroseconds ?? []);
  const seconds = sum(slices.map((slice) => slice.seconds));
  return {
    requests_per_second: round(perSecond, 1),
    p50_us: round(p50 * 1000, 0),
    p99_us: round(p99 * 1000, 0),
    ...(cpu.length === slices.length && {
      cpu_us: round(sum(cpu) / latencies.length, 0),
      busy: round(sum(cpu) / 1e6 / seconds, 2),
    }),
    ...toForeignLoad(slices),
  };
}

function toForeignLoad(slices: readonly MeasuredSlice[]) {
  const loads = slices.flatMap(({ foreignLoad }) => foreignLoad ?? []);
  if (loads.length === 0) return {};
  return {
    foreign_load: round(sum(loads) / loads.length, 2),
    disturbed_slices: loads.filter((load) => load > MAX_FOREIGN_LOAD).length,
    repeated_slices: slices.filter(({ repeats = 0 }) => repeats > 0).length,
  };
}

/** The median over the rounds of what one target reached beside the other in the same round. */
function toRatios({ cells }: Measured): Record<string, number> {
  const ratios: Record<string, number> = {};
  for (const { name } of LOAD_CELLS) {
    for (const base of ['bare', 'direct'] as const) {
      for (const target of ALL_TARGETS) {
        if (target === base || target === 'direct') continue;
        const pairs = pairsOf(cells.get(name)?.get(target), cells.get(name)?.get(base));
        const ratio = median(pairs);
        if (ratio !== undefined) ratios[`${target}_over_${base}.${name}`] = round(ratio, 3);
      }
    }
  }
  return ratios;
}

/** What is measured once: beside the bare proxy, the upstream, and of a soak beside its own start. */
function toOwnRatios({ first_event_ms, startup_ms, rss_mb }: Figures): Record<string, number> {
  const ratios: Record<string, number> = {};
  for (const target of ALL_TARGETS) {
    const resident = rss_mb[target];
    for (const base of ['bare', 'direct'] as const) {
      if (target === base || target === 'direct') continue;
      const add = (what: string, value?: number, divisor?: number) => {
        if (value === undefined || !divisor) return;
        ratios[`${target}_over_${base}.${what}`] = round(value / divisor, 3);
      };
      add('first_event', first_event_ms[target], first_event_ms[base]);
      add('startup', startup_ms[target], startup_ms[base]);
      add('rss_idle', resident?.idle, rss_mb[base]?.idle);
    }
    if (resident?.soaked === undefined) continue;
    ratios[`${target}_over_start.rss_soaked`] = round(resident.soaked / resident.idle, 3);
  }
  return ratios;
}

function pairsOf(over: readonly SliceResult[] = [], base: readonly SliceResult[] = []): number[] {
  return over.flatMap((slice, index) => {
    const other = base[index];
    const divisor = other ? throughput(other) : 0;
    return divisor > 0 ? throughput(slice) / divisor : [];
  });
}

function throughput({ latenciesMs, seconds }: SliceResult): number {
  return latenciesMs.length / seconds;
}

/** The first start of all fills the cache of compiled code, as it does once after an update. */
function laterOnes(startupsMs: readonly number[]): readonly number[] {
  return startupsMs.length > 1 ? startupsMs.slice(1) : startupsMs;
}

function perTarget<Value>(
  results: ReadonlyMap<TargetName, readonly MeasuredSlice[]> = new Map(),
  toValue: (slices: readonly MeasuredSlice[]) => Value | undefined,
): PerTarget<Value> {
  const values: PerTarget<Value> = {};
  for (const [target, slices] of results) {
    const value = toValue(slices);
    if (value !== undefined) values[target] = value;
  }
  return values;
}

function fromProxies<Value>(
  proxies: readonly MeasuredProxy[],
  toValue: (proxy: MeasuredProxy) => Value | undefined,
): PerTarget<Value> {
  const values: PerTarget<Value> = {};
  for (const proxy of proxies) {
    const value = toValue(proxy);
    if (value !== undefined) values[proxy.name] = value;
  }
  return values;
}

function known(value: number | undefined, digits: number): number | undefined {
  return value === undefined ? undefined : round(value, digits);
}
