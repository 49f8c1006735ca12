// `npm run prove:disk`: a gateway on a disk that callers and other programs fill.

import {
  type CommandContext,
  type CommandOptions,
  type Measurement,
  type MeasuringReport,
  runCommand,
} from '../../bench/command.ts';
import { parseFlags, parseNumber } from '../../bench/flags.ts';
import { readOrigin } from '../../bench/origin.ts';
import { runCampaign } from './campaign.ts';

const USAGE = `npm run prove:disk -- [options]

  --megabytes <n>     size of the disk (default 24)
  --json              print the report as one line of JSON
  --help              print this

It mounts a file system in memory, which needs the right to; without it the campaign is skipped.
`;

interface ProveOptions extends CommandOptions {
  readonly megabytes: number;
}

interface Report extends MeasuringReport {
  readonly name: 'prove:disk';
  readonly operations: number;
  /** Times that the disk was filled, or the gateway was killed. */
  readonly faults: number;
  readonly violations: number;
  readonly found: readonly string[];
}

const RANGE = { least: 16, most: 1024 };

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  megabytes: { type: 'string', default: '24' },
} as const;

await runCommand({ usage: USAGE, parse: parseOptions, run: prove });

function parseOptions(args: readonly string[]): ProveOptions {
  const { help, json, megabytes } = parseFlags(args, FLAGS, USAGE);
  return { help, json, megabytes: parseNumber('megabytes', megabytes, RANGE, USAGE) };
}

async function prove(
  { megabytes }: ProveOptions,
  { signal, tell }: CommandContext,
): Promise<Measurement> {
  const { versions, commit } = readOrigin();
  const result = await runCampaign({ megabytes, signal, tell });
  const about = { name: 'prove:disk', ratios: {}, versions, commit } as const;
  if (typeof result === 'string') {
    const nothing = { operations: 0, faults: 0, violations: 0, found: [], figures: {} };
    const report: Report = { ...about, ...nothing, passed: 0, failed: 0, skipped: 1 };
    return { report, text: `skipped: ${result}` };
  }
  const { checks, figures, operations, faults } = result;
  const found = checks.flatMap(({ name, problem }) => (problem ? [`${name}: ${problem}`] : []));
  const counts = { passed: checks.length - found.length, failed: found.length, skipped: 0 };
  const violations = found.length;
  const report: Report = { ...about, ...counts, figures, operations, faults, violations, found };
  const lines = checks.map(({ name, problem }) =>
    problem === undefined ? `held: ${name}` : `FAILED: ${name}: ${problem}`,
  );
  return { report, text: lines.join('\n') };
}
