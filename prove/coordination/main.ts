// `npm run prove:coordination`: clients at work while things break, and every promise checked.

import { FabricError } from '@starloom/core';
import { readOrigin } from '../../bench/origin.ts';
import { type CampaignResult, runCampaign } from './campaign.ts';
import { type CommandOptions, parseOptions, USAGE } from './options.ts';
import { toReport, toText } from './report.ts';

const EXIT_USAGE = 64;

try {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(USAGE);
  else await prove(options);
} catch (thrown) {
  const error = FabricError.from(thrown);
  tell(`${error.message}\n${JSON.stringify(error.details, null, 2)}`);
  if (error.code === 'INTERNAL' && error.cause instanceof Error) tell(String(error.cause.stack));
  process.exitCode = error.details.reason === 'usage' ? EXIT_USAGE : error.row.exit;
}

async function prove({ json, seconds, seed, stores }: CommandOptions): Promise<void> {
  const signal = untilStopped();
  const results: CampaignResult[] = [];
  for (const store of stores) {
    results.push(await runCampaign({ store, seconds, seed, signal, tell }));
  }
  const report = toReport(results, seed, readOrigin());
  tell(toText(report));
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`);
  if (report.violations > 0) process.exitCode = 1;
}

/** Aborts on Ctrl-C, after which everything that was started is stopped. */
function untilStopped(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stop.abort(new FabricError('CANCELLED', 'Stopped by a signal')));
  }
  return stop.signal;
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
