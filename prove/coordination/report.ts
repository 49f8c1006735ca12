// What a campaign says, in the shape that every proving command of ours prints.

import type { MeasuringReport } from '../../bench/command.ts';
import type { Origin } from '../../bench/origin.ts';
import { findShortfalls } from './shortfalls.ts';
import { type CampaignResult, countFaults } from './tally.ts';
import { INVARIANTS, type Violation } from './violation.ts';

export interface Report extends MeasuringReport {
  readonly name: 'prove:coordination';
  /** Invariants per store: those that held; those that did not, and what was missing. */
  readonly passed: number;
  readonly failed: number;
  /** Keys whose search for a linear order was given up. */
  readonly skipped: number;
  readonly figures: Readonly<Record<string, Omit<CampaignResult, 'violations' | 'versions'>>>;
  readonly ratios: Readonly<Record<string, number>>;
  readonly seed: number;
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
  const engines = Object.assign({}, ...results.map((result) => result.versions));
  const figures = results.map(({ violations: _, versions: __, ...figure }) => {
    return [figure.store, figure] as const;
  });
  return {
    name: 'prove:coordination',
    passed: results.length * INVARIANTS.length - broken,
    failed: broken + missing.length,
    skipped: sum(results, ({ undecided }) => undecided),
    figures: Object.fromEntries(figures),
    ratios: {},
    seed,
    versions: { ...versions, ...engines },
    commit,
    operations: sum(results, ({ operations }) => operations),
    faults: sum(results, ({ faults }) => countFaults(faults)),
    violations: found.length,
    found: found.slice(0, SHOWN),
    missing,
  };
}

export function toText({ figures, found, missing, violations, seed }: Report): string {
  const lines = Object.values(figures).map((each) => {
    const { store, operations, outcomes, deliveries, gaps, faults, keys, undecided } = each;
    const { ok = 0, refused = 0, unknown = 0 } = outcomes;
    const kinds = Object.entries(faults).map(([name, count]) => `${name} ${count}`);
    return [
      `${store}: ${operations} operations (${ok} ok, ${refused} refused, ${unknown} unknown)`,
      `  ${deliveries} deliveries with ${gaps} gaps said aloud`,
      `  ${keys} keys searched for a linear order, ${undecided} searches given up`,
      `  ${countFaults(faults)} faults: ${kinds.join(', ')}`,
    ].join('\n');
  });
  const excerpts = found.map(({ invariant, message, excerpt }) => {
    return [`${invariant}: ${message}`, ...excerpt.map((line) => `  ${line}`)].join('\n');
  });
  const shortfalls = missing.map((what) => `missing: ${what}`);
  const verdict = `${violations} violations (seed ${seed})`;
  return [...lines, ...excerpts, ...shortfalls, verdict].join('\n');
}

function sum(results: readonly CampaignResult[], of: (result: CampaignResult) => number): number {
  return results.reduce((total, result) => total + of(result), 0);
}
