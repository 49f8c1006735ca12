// `npm run prove:jobs`: clients and jobs at work while things break, and every promise checked.

import { type CommandContext, type Measurement, runCommand } from '../../bench/command.ts';
import { readOrigin } from '../../bench/origin.ts';
import { type CampaignResult, runCampaign } from './campaign.ts';
import { type ProveOptions, parseOptions, USAGE } from './options.ts';
import { toReport, toText } from './report.ts';
import { openWorld } from './world.ts';

await runCommand({ usage: USAGE, parse: parseOptions, run: prove });

async function prove(
  { seconds, seed, engines }: ProveOptions,
  context: CommandContext,
): Promise<Measurement> {
  const results: CampaignResult[] = [];
  for (const engine of engines) {
    const open = (random: Parameters<typeof openWorld>[1]) => openWorld(engine, random);
    results.push(await runCampaign({ open, seconds, seed, ...context }));
  }
  const report = toReport(results, seed, readOrigin());
  return { report, text: toText(report, results) };
}
