// `npm run bench:identity`: what it costs to know who calls, with a credential that was seen before and
// with one that was not, beside the signature check of the library alone; what a mandate costs, and a
// decision by the rules of a policy.

import {
  type CommandContext,
  type Measurement,
  type MeasuringReport,
  runCommand,
} from '../command.ts';
import { toMarkdownTable } from '../markdown-table.ts';
import { type Origin, readOrigin, toOriginLine } from '../origin.ts';
import { median, quantile, round } from '../statistics.ts';
import { writeDocs } from '../write-docs.ts';
import { CASES, type CaseName, openCases, type Work } from './cases.ts';
import { type IdentityBenchOptions, parseOptions, USAGE } from './options.ts';

interface CaseFigures {
  readonly median_us: number;
  readonly p99_us: number;
}

interface Report extends MeasuringReport, Origin {
  readonly figures: Readonly<Record<CaseName, CaseFigures>>;
}

const WHAT: Readonly<Record<CaseName, string>> = {
  key: 'shared key',
  passport_cached: 'passport, seen before',
  passport_first: 'passport, first time',
  structured_first: 'passport as JSON object, first time',
  passport_bare: 'the same passport by jose alone',
  oauth_first: 'access token (ES256), first time',
  oauth_bare: 'the signature of that token by the platform alone',
  mint: 'mandate, minted',
  mandate_first: 'mandate, verified by an agent',
  scopes_only: 'decision on a call, scopes alone',
  policy_known: '100 rules, caller and agent seen before',
  policy_call: '100 rules on the call itself',
  policy_first: '100 rules, caller never seen',
};

/** What was asked for, in µs; on an idle machine. */
const GOALS: Partial<Record<CaseName, number>> = {
  passport_cached: 20,
  passport_first: 400,
  oauth_first: 400,
  policy_known: 50,
  policy_call: 50,
  policy_first: 50,
};
const ROUNDS = 5;

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

async function bench(
  { seconds, writeDocs: writes }: IdentityBenchOptions,
  { signal, tell }: CommandContext,
): Promise<Measurement> {
  await using cases = await openCases();
  const samples = new Map<CaseName, number[]>(CASES.map((name) => [name, []]));
  // In turns, so that a busy moment of the machine meets all of them.
  for (let round_ = 0; round_ <= ROUNDS; round_ += 1) {
    tell(round_ === 0 ? 'warming up' : `round ${round_} of ${ROUNDS}`);
    for (const name of CASES) {
      signal.throwIfAborted();
      const measured = await measure(cases.work[name], (seconds * 1000) / ROUNDS);
      if (round_ > 0) samples.set(name, (samples.get(name) ?? []).concat(measured));
    }
  }
  const report = toReport(samples);
  const text = toText(report);
  if (writes) await writeDocs('bench:identity', text);
  return { report, text: `\n${text}` };
}

/** Microseconds of each piece of work. */
async function measure(work: Work, ms: number): Promise<number[]> {
  const samples: number[] = [];
  const until = performance.now() + ms;
  for (let now = performance.now(); now < until; ) {
    const done = work();
    if (done instanceof Promise) await done;
    const after = performance.now();
    samples.push((after - now) * 1000);
    now = after;
  }
  return samples;
}

function toReport(samples: ReadonlyMap<CaseName, readonly number[]>): Report {
  const figures = Object.fromEntries(
    [...samples].map(([name, values]) => [
      name,
      {
        median_us: round(median(values) ?? 0, 1),
        p99_us: round(quantile(values, 0.99) ?? 0, 1),
      },
    ]),
  ) as Record<CaseName, CaseFigures>;
  const ratio = (a: CaseName, b: CaseName) => round(figures[a].median_us / figures[b].median_us, 2);
  return {
    name: 'bench:identity',
    passed: CASES.length,
    failed: 0,
    skipped: 0,
    figures,
    ratios: {
      'first_over_bare.passport': ratio('passport_first', 'passport_bare'),
      'first_over_bare.oauth': ratio('oauth_first', 'oauth_bare'),
      'cached_over_first.passport': ratio('passport_cached', 'passport_first'),
    },
    ...readOrigin('jose'),
  };
}

function toText(report: Report): string {
  const rows = CASES.map((name) => {
    const { median_us, p99_us } = report.figures[name];
    const goal = GOALS[name];
    return [WHAT[name], median_us, p99_us, goal === undefined ? undefined : `< ${goal}`];
  });
  const table = toMarkdownTable(['', 'median µs', 'p99 µs', 'asked for, median µs'], rows);
  return [toOriginLine(report), table].join('\n\n');
}
