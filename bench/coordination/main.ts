// `npm run bench:coordination`: what the plane costs beside the engines it stands on, and how fast
// the gateway tells a thousand subscribers.

import { type CommandContext, type Measurement, runCommand } from '../command.ts';
import { splitCores } from '../cores.ts';
import { readOrigin } from '../origin.ts';
import { writeDocs } from '../write-docs.ts';
import { type CoordinationBenchOptions, parseOptions, USAGE } from './options.ts';
import { SIZES } from './plan.ts';
import { toReport } from './report.ts';
import { run } from './run.ts';
import { toMarkdown } from './table.ts';

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

async function bench(
  { pin, writeDocs: writes, ...asked }: CoordinationBenchOptions,
  context: CommandContext,
): Promise<Measurement> {
  const origin = readOrigin('redis');
  const cores = pin ? splitCores() : undefined;
  const measured = await run({ ...asked, cores, sizes: SIZES, sliceMs: 1000 }, context);
  const report = toReport(measured, origin);
  const figures = toMarkdown(report);
  if (writes) await writeDocs('bench:coordination', figures);
  return { report, text: ['', ...report.failures, figures].join('\n') };
}
