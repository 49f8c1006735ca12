// What the attacks did, in the shape that every proving command of ours prints.

import type { MeasuringReport } from '../../bench/command.ts';
import { toMarkdownTable } from '../../bench/markdown-table.ts';
import { type Origin, toOriginLine } from '../../bench/origin.ts';
import { round } from '../../bench/statistics.ts';
import type { AttackResult, RoundFigures, SliceFigures } from './campaign.ts';
import type { Settled } from './gateway-probe.ts';
import type { Latencies, Observed } from './ordinary-client.ts';
import { type Floors, sentOf, successOf } from './verdict.ts';

export interface Report extends MeasuringReport {
  readonly name: 'prove:abuse';
  /** What the ordinary client asked for during attacks. */
  readonly operations: number;
  /** What attackers did. */
  readonly faults: number;
  readonly violations: number;
  readonly found: readonly string[];
  readonly floors: Floors;
}

export function toReport(
  results: readonly AttackResult[],
  { floors }: { readonly floors: Floors },
  { versions, commit }: Pick<Origin, 'versions' | 'commit'>,
): Report {
  const failed = results.filter(({ problems }) => problems.length > 0).length;
  const found = results.flatMap(({ name, problems }) => problems.map((each) => `${name}: ${each}`));
  return {
    name: 'prove:abuse',
    passed: results.length - failed,
    failed: failed + (results.length === 0 ? 1 : 0),
    skipped: 0,
    figures: Object.fromEntries(results.map((result) => [result.name, toFigures(result)])),
    ratios: Object.fromEntries(
      results.flatMap((result) => [
        [`${result.name}.p99`, toRatio(result)],
        [`${result.name}.p99.at_first`, toRatio({ quiet: result.quiet, during: result.first })],
      ]),
    ),
    versions,
    commit,
    operations: results.reduce((sum, { during }) => sum + sentOf(during), 0),
    faults: results.reduce((sum, { operations }) => sum + operations, 0),
    violations: found.length,
    found,
    floors,
  };
}

/** How much slower the calls of others should be at most. */
const AIM = 5;

export function toLine({ name, problems }: AttackResult): string {
  return problems.length === 0 ? `${name}: held` : `${name}: FAILED: ${problems.join('; ')}`;
}

const HEAD = [
  'attack',
  'success %',
  'call p50 ms',
  'call p99 ms',
  '×',
  '× at first',
  'bare proxy p99 ms',
  'update p99 ms',
  'new p99 ms',
  'direct p99 ms',
  'disk p99 ms',
  'turn p99 ms',
  'longest turn ms',
  'no core %',
  'stolen %',
  'rounds: call p99 ms, foreign %',
  'RSS MB before / peak / after',
  'in use MB before / after',
  'verdict',
];

export function toText({ found, passed, failed }: Report, results: readonly AttackResult[]) {
  const rows = results.map((result) => {
    const { name, quiet, first, during, proxy, memory, rounds, problems } = result;
    const pair = (of: (observed: Observed) => number) => `${ms(of(quiet))} → ${ms(of(during))}`;
    return [
      name,
      percent(during),
      pair(({ calls }) => calls.p50),
      pair(({ calls }) => calls.p99),
      toRatio(result).toFixed(1),
      toRatio({ quiet, during: first }).toFixed(1),
      proxy ? `${ms(proxy.quiet.p99)} → ${ms(proxy.during.p99)}` : '',
      pair(({ updates }) => updates.p99),
      pair(({ newcomers }) => newcomers.p99),
      pair(({ direct }) => direct.p99),
      pair(({ disk }) => disk.p99),
      most(rounds, ({ turns }) => turns.p99, ms),
      most(rounds, ({ turns }) => turns.longest, ms),
      most(rounds, ({ noCore }) => noCore, percentOf),
      pair(({ calls }) => (100 * calls.stolen) / Math.max(1, calls.sent)),
      rounds.map(toRound).join('; '),
      megabytes(memory.before.resident, memory.peak, memory.after.resident),
      megabytes(memory.before.live, memory.after.live),
      problems.length === 0 ? 'held' : 'failed',
    ];
  });
  // Those of a shutdown take as long as they take.
  const attacked = results.filter(({ rounds }) => rounds.length > 0);
  const near = attacked.filter((result) => toRatio(result) <= AIM);
  const nearAtFirst = attacked.filter(
    ({ quiet, first }) => toRatio({ quiet, during: first }) <= AIM,
  );
  const counts = `${near.length} of ${attacked.length} attacks, at first in ${nearAtFirst.length}`;
  const aim = `p99 of calls was at most ${AIM} × quiet in ${counts}`;
  const summary = `${passed} attacks held, ${failed} did not; ${aim}`;
  return [toMarkdownTable(HEAD, rows), ...found, summary].join('\n');
}

/** What the page on proofs shows of a run. */
export function toMarkdown(results: readonly AttackResult[], origin: Origin): string {
  const head = [
    ...['attack', 'call p99 ms', '×', '× at first'],
    ...['bare proxy p99 ms', '×', 'no gateway p99 ms', '×'],
  ];
  const attacked = results.filter(({ rounds }) => rounds.length > 0);
  const rows = attacked.map(({ name, quiet, first, during, proxy }) => [
    `\`${name}\``,
    `${ms(quiet.calls.p99)} → ${ms(during.calls.p99)}`,
    toRatio({ quiet, during }).toFixed(1),
    toRatio({ quiet, during: first }).toFixed(1),
    proxy && `${ms(proxy.quiet.p99)} → ${ms(proxy.during.p99)}`,
    proxy && toTimes(proxy.quiet.p99, proxy.during.p99),
    `${ms(quiet.direct.p99)} → ${ms(during.direct.p99)}`,
    toTimes(quiet.direct.p99, during.direct.p99),
  ]);
  return `${toOriginLine(origin)}\n\n${toMarkdownTable(head, rows)}`;
}

function toFigures(result: AttackResult) {
  const { about, operations, counts, quiet, first, during } = result;
  const { proxy, memory, rounds, problems } = result;
  return {
    about,
    attacked: operations,
    counts,
    success: round(successOf(during), 5),
    before: toMilliseconds(quiet),
    at_first: toMilliseconds(first),
    during: toMilliseconds(during),
    failures: during.failures,
    ...(proxy && { proxy: { before: toLatency(proxy.quiet), during: toLatency(proxy.during) } }),
    rounds: rounds.map(({ quiet, during }) => ({
      before: toSliceFigures(quiet),
      during: toSliceFigures(during),
    })),
    memory_mb: {
      before: toSettled(memory.before),
      peak: round(memory.peak, 1),
      after: toSettled(memory.after),
    },
    problems,
  };
}

function toSettled({ resident, live }: Settled) {
  return { resident: round(resident, 1), live: round(live, 1) };
}

function toMilliseconds({ calls, updates, newcomers, direct, disk }: Observed) {
  return {
    calls: toLatency(calls),
    updates: toLatency(updates),
    newcomers: toLatency(newcomers),
    direct: toLatency(direct),
    disk: toLatency(disk),
  };
}

function toLatency({ sent, ok, stolen, p50, p99 }: Latencies) {
  return { sent, ok, stolen, p50_ms: round(p50, 1), p99_ms: round(p99, 1) };
}

function toSliceFigures({ p99, noCore, foreign, turns }: SliceFigures) {
  return {
    p99_ms: round(p99, 1),
    turn_p99_ms: round(turns.p99, 1),
    longest_turn_ms: round(turns.longest, 1),
    waited_for_core: round(noCore, 3),
    foreign: round(foreign, 3),
  };
}

function toRound({ quiet, during }: RoundFigures): string {
  const of = ({ p99, foreign }: SliceFigures) => `${ms(p99)} (${percentOf(foreign)})`;
  return `${of(quiet)} → ${of(during)}`;
}

/** The largest of all rounds. */
function most(
  rounds: readonly RoundFigures[],
  of: (slice: SliceFigures) => number,
  toText: (value: number) => string,
): string {
  const largest = (when: keyof RoundFigures) =>
    toText(Math.max(0, ...rounds.map((each) => of(each[when]))));
  return `${largest('quiet')} → ${largest('during')}`;
}

function percentOf(share: number): string {
  return (share * 100).toFixed(0);
}

function toRatio({ quiet, during }: Pick<AttackResult, 'quiet' | 'during'>): number {
  return quiet.calls.p99 === 0 ? 0 : round(during.calls.p99 / quiet.calls.p99, 2);
}

function toTimes(quiet: number, during: number): string {
  return quiet === 0 ? '' : (during / quiet).toFixed(1);
}

function percent(observed: Observed): string {
  return (successOf(observed) * 100).toFixed(2);
}

function megabytes(...values: readonly number[]): string {
  return values.map((each) => each.toFixed(0)).join(' / ');
}

function ms(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0);
}
