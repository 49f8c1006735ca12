// `npm run prove:coordination`: clients at work while things break, and every promise checked.

import { type CommandContext, type Measurement, runCommand } from '../../bench/command.ts';
import { readOrigin } from '../../bench/origin.ts';
import { runCampaign } from './campaign.ts';
import { type ProveOptions, parseOptions, USAGE } from './options.ts';
import { toReport, toText } from './report.ts';
import type { CampaignResult } from './tally.ts';

await runCommand({ usage: USAGE, parse: parseOptions, run: prove });

async function prove(
  { seconds, seed, stores }: ProveOptions,
  context: CommandContext,
): Promise<Measurement> {
  const results: CampaignResult[] = [];
  for (const store of stores) {
    results.push(await runCampaign({ store, seconds, seed, ...context }));
  }
  const report = toReport(results, seed, readOrigin());
  return { report, text: toText(report) };
}
