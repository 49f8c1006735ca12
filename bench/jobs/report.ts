// What a run says, in the shape that every measuring command of ours prints.

import type { MeasuringReport } from '../command.ts';
import { toMarkdownTable } from '../markdown-table.ts';
import { type Origin, toOriginLine } from '../origin.ts';
import { round } from '../statistics.ts';
import type { Rate } from './rate.ts';
import type { StreamFigures } from './streams-part.ts';

export interface Figures {
  readonly sqlite?: Readonly<Record<string, Rate>>;
  readonly postgres?: Readonly<Record<string, Rate>>;
  readonly streams?: StreamFigures;
  readonly growth?: Readonly<Record<string, Rate>>;
}

export interface Goal {
  readonly name: string;
  readonly asked: string;
  readonly measured: number;
  readonly met: boolean;
}

export interface Report extends MeasuringReport, Origin {
  readonly name: 'bench:jobs';
  readonly figures: Figures;
  /** What was asked for, on an idle machine; missing it is no failure. */
  readonly goals: readonly Goal[];
}

export function toReport(figures: Figures, origin: Origin, failures: readonly string[]): Report {
  const { sqlite, postgres, streams, growth } = figures;
  const ratio = (a: Rate | undefined, b: Rate | undefined) =>
    a && b ? round(a.per_second / b.per_second, 2) : undefined;
  const ratios = {
    'starloom_over_bare.sqlite.accept': ratio(sqlite?.starloom, sqlite?.bare),
    'starloom_over_pg_boss.send': ratio(postgres?.starloom, postgres?.pg_boss_send),
    'starloom_over_pg_boss.insert': ratio(postgres?.starloom, postgres?.pg_boss_insert),
    'full_over_empty.job': ratio(growth?.full, growth?.empty),
  };
  const goals = [
    least('sqlite, accepted jobs/s', 3_000, sqlite?.starloom?.per_second),
    least('postgres ÷ pg-boss by send', 0.5, ratios['starloom_over_pg_boss.send']),
    least('postgres ÷ pg-boss by insert', 0.5, ratios['starloom_over_pg_boss.insert']),
    below('first event after, p99 ms', 10, streams?.first_event_p99_ms),
    least('streams that wait at once', 10_000, streams?.streams),
    least('jobs/s with finished jobs ÷ without', 0.8, ratios['full_over_empty.job']),
  ].flatMap((goal) => goal ?? []);
  const known = Object.entries(ratios).filter(([, value]) => value !== undefined);
  return {
    name: 'bench:jobs',
    passed: Object.keys(figures).length,
    failed: failures.length,
    skipped: 4 - Object.keys(figures).length - failures.length,
    figures,
    ratios: Object.fromEntries(known) as Record<string, number>,
    goals,
    ...origin,
  };
}

export function toMarkdown(report: Report): string {
  const { sqlite = {}, postgres = {}, streams, growth = {} } = report.figures;
  const rates = [
    ...rowsOf('SQLite, accepted', sqlite),
    ...rowsOf('Postgres, accepted', postgres),
    ...rowsOf('SQLite, whole jobs, file', growth),
  ];
  const tables = [toMarkdownTable(['', 'jobs/s', 'CPU µs per job'], rates)];
  if (streams !== undefined) {
    tables.push(
      toMarkdownTable(
        ['streams', ''],
        [
          ['first event, p50 ms', streams.first_event_p50_ms],
          ['first event, p99 ms', streams.first_event_p99_ms],
          ['streams that wait', streams.streams],
          ['KB per stream', streams.kb_per_stream],
          ['all jobs run, last first event after ms', streams.last_of_streams_ms],
        ],
      ),
    );
  }
  const goals = report.goals.map(({ name, asked, measured, met }) => [
    name,
    asked,
    measured,
    met ? 'yes' : 'no',
  ]);
  tables.push(toMarkdownTable(['asked for', 'on an idle machine', 'measured', 'met'], goals));
  return [toOriginLine(report), ...tables].join('\n\n');
}

function rowsOf(what: string, rates: Readonly<Record<string, Rate>>) {
  return Object.entries(rates).map(([name, { per_second, cpu_us }]) => [
    `${what}: ${name}`,
    per_second,
    cpu_us,
  ]);
}

function least(name: string, bound: number, measured: number | undefined): Goal | undefined {
  if (measured === undefined) return undefined;
  return { name, asked: `≥ ${bound}`, measured, met: measured >= bound };
}

function below(name: string, bound: number, measured: number | undefined): Goal | undefined {
  if (measured === undefined) return undefined;
  return { name, asked: `< ${bound}`, measured, met: measured < bound };
}
