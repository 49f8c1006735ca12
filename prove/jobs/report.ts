// What a campaign says, in the shape that every proving command of ours prints.

import type { MeasuringReport } from '../../bench/command.ts';
import type { Origin } from '../../bench/origin.ts';
import type { CampaignResult } from './campaign.ts';
import { INVARIANTS, type Violation } from './check.ts';

export interface Report extends MeasuringReport {
  readonly name: 'prove:jobs';
  readonly seed: number;
  readonly jobs: number;
  readonly operations: number;
  readonly faults: number;
  readonly violations: number;
  readonly found: readonly Violation[];
  /** Without which the run proves nothing. */
  readonly missing: readonly string[];
}

/** So many violations are shown; the rest is counted. */
const SHOWN = 10;

export function toReport(
  results: readonly CampaignResult[],
  seed: number,
  { versions, commit }: Pick<Origin, 'versions' | 'commit'>,
): Report {
  const found = results.flatMap(({ violations }) => violations);
  const missing = results.flatMap(findShortfalls);
  const broken = sum(results, ({ violations }) => {
    return new Set(violations.map(({ invariant }) => invariant)).size;
  });
  const figures = results.map(({ violations: _, versions: __, ...figure }) => {
    return [figure.name, figure] as const;
  });
  return {
    name: 'prove:jobs',
    passed: results.length * INVARIANTS.length - broken,
    failed: broken + missing.length,
    skipped: 0,
    figures: Object.fromEntries(figures),
    ratios: {},
    seed,
    versions: { ...versions, ...Object.assign({}, ...results.map((result) => result.versions)) },
    commit,
    jobs: sum(results, ({ jobs }) => jobs),
    operations: sum(results, ({ requests }) => total(requests)),
    faults: sum(results, ({ faults }) => total(faults)),
    violations: found.length,
    found: found.slice(0, SHOWN),
    missing,
  };
}

/** A campaign in which nothing happened has no violations either. */
export function findShortfalls(result: CampaignResult): readonly string[] {
  const { name, jobs, ends, interrupted, reconnects, faults } = result;
  const never = Object.keys(faults).filter((kind) => faults[kind] === 0);
  const missing = [
    jobs === 0 && 'no job',
    ...['succeeded', 'failed', 'cancelled'].map((state) => !ends[state] && `no ${state} job`),
    interrupted === 0 && 'no interrupted job',
    reconnects === 0 && 'no stream that was resumed',
    never.length > 0 && `no fault of the kind ${never.join(', ')}`,
  ];
  return missing.flatMap((what) => (what === false ? [] : `${name}: ${what}`));
}

export function toText(
  { found, missing, violations, seed }: Report,
  results: readonly CampaignResult[],
) {
  const lines = results.map((each) => {
    const { name, jobs, ends, interrupted, effects, streams, events, reconnects, faults } = each;
    const states = Object.entries(ends).map(([state, n]) => `${n} ${state}`);
    const kinds = Object.entries(faults).map(([kind, n]) => `${kind} ${n}`);
    return [
      `${name}: ${jobs} jobs accepted (${states.join(', ')}; ${interrupted} interrupted)`,
      `  ${effects} effects at the agent; ${streams} streams, ${events} events, ${reconnects} resumptions`,
      `  ${total(faults)} faults: ${kinds.join(', ')}`,
    ].join('\n');
  });
  const excerpts = found.map(({ invariant, message }) => `${invariant}: ${message}`);
  const shortfalls = missing.map((what) => `missing: ${what}`);
  return [...lines, ...excerpts, ...shortfalls, `${violations} violations (seed ${seed})`].join(
    '\n',
  );
}

function sum(results: readonly CampaignResult[], of: (result: CampaignResult) => number): number {
  return results.reduce((so, result) => so + of(result), 0);
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((so, n) => so + n, 0);
}
