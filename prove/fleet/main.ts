// `npm run prove:fleet`: several gateways behind a balancer, nodes, Postgres and Redis at work while
// parts of them die, and what clients were promised.

import { type CommandContext, type Measurement, runCommand } from '../../bench/command.ts';
import { parseFlags, parseNumber } from '../../bench/flags.ts';
import { readOrigin } from '../../bench/origin.ts';
import { type CampaignResult, runCampaign } from './campaign.ts';
import { openWorld } from './world.ts';

const USAGE = `npm run prove:fleet -- [options]

  --gateways <n>     how many gateways (default 3)
  --nodes <n>        how many nodes (default 2)
  --away <seconds>   how long Postgres, and how long Redis is away (default 20)
  --rounds <n>       how often every fault happens (default 1)
  --previous <file>  launcher of another version, which the last gateway runs
  --json             print the report as one line of JSON
  --help             print this
`;

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  gateways: { type: 'string', default: '3' },
  nodes: { type: 'string', default: '2' },
  away: { type: 'string', default: '20' },
  rounds: { type: 'string', default: '1' },
  previous: { type: 'string' },
} as const;

await runCommand({ usage: USAGE, parse: parseOptions, run: prove });

function parseOptions(args: readonly string[]) {
  const { help, json, previous, ...numbers } = parseFlags(args, FLAGS, USAGE);
  const numberOf = (name: keyof typeof numbers, least = 1) =>
    parseNumber(name, numbers[name], { least, most: 3_600 }, USAGE);
  return {
    help,
    json,
    previous,
    gateways: numberOf('gateways', 2),
    nodes: numberOf('nodes', 2),
    awayMs: numberOf('away') * 1_000,
    rounds: numberOf('rounds'),
  };
}

async function prove(
  { awayMs, rounds, ...options }: ReturnType<typeof parseOptions>,
  { tell, signal }: CommandContext,
): Promise<Measurement> {
  const results: CampaignResult[] = [];
  for (let round = 0; round < rounds && !signal.aborted; round += 1) {
    tell(`starting ${options.gateways} gateways, ${options.nodes} nodes, a balancer and stores`);
    await using world = await openWorld(options);
    results.push(await runCampaign({ world, awayMs, tell, signal }));
  }
  const violations = results.flatMap((result) => result.violations);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  const calls = sum(results.flatMap((result) => Object.values(result.calls)));
  const jobs = sum(results.map((result) => result.jobs));
  const faults = sum(results.map((result) => result.faults.length));
  const isEmpty = calls === 0 || jobs === 0 || faults === 0;
  const { versions, commit } = readOrigin();
  const report = {
    name: 'prove:fleet',
    passed: faults,
    failed: violations.length + (isEmpty ? 1 : 0),
    skipped: options.previous === undefined ? 1 : 0,
    figures: { rounds: results },
    ratios: {},
    operations: calls + jobs,
    faults,
    violations: violations.length,
    versions,
    commit,
  };
  const text = [
    ...results.map((result) => JSON.stringify({ ...result, violations: undefined }, null, 2)),
    ...violations.slice(0, 20),
    `${calls} calls and ${jobs} jobs over ${faults} faults; ${violations.length} violations`,
  ];
  if (options.previous === undefined)
    text.push('two versions side by side: not run, see --previous');
  return { report, text: text.join('\n') };
}
