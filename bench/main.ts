// `npm run bench`: what a call through the gateway costs, beside a bare proxy and no proxy at all.

import { type CommandContext, type Measurement, runCommand } from './command.ts';
import { leaveProxyCore, splitCores } from './cores.ts';
import { type BenchOptions, parseOptions, USAGE } from './options.ts';
import { readOrigin } from './origin.ts';
import { toReport } from './report.ts';
import { run } from './run.ts';
import { toMarkdown } from './table.ts';
import { writeDocs } from './write-docs.ts';

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

async function bench(
  { pin, writeDocs: writes, ...asked }: BenchOptions,
  context: CommandContext,
): Promise<Measurement> {
  const origin = readOrigin('undici');
  const cores = pin ? splitCores() : undefined;
  if (cores) leaveProxyCore(cores);
  else context.tell('the proxy shares its core: ratios will be flattered by what the others cost');
  const options = { ...asked, cores, sliceMs: 1000, rampMs: 200, startups: 3 };
  const report = toReport(await run(options, context), origin);
  const figures = toMarkdown(report);
  if (writes) await writeDocs('bench', figures);
  return { report, text: ['', ...report.failures, figures].join('\n') };
}
