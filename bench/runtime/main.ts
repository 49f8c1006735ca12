// `npm run bench:runtime`: what a turn of an agent costs beside the AI SDK's loop, many sessions at
// once, and how long an agent takes to its first answer.

import { type CommandContext, type Measurement, runCommand } from '../command.ts';
import { readOrigin } from '../origin.ts';
import { writeDocs } from '../write-docs.ts';
import { parseOptions, type RuntimeBenchOptions, USAGE } from './options.ts';
import { toReport } from './report.ts';
import { run } from './run.ts';
import { toMarkdown } from './table.ts';

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

async function bench(
  { seconds, sessions, writeDocs: writes }: RuntimeBenchOptions,
  context: CommandContext,
): Promise<Measurement> {
  const origin = readOrigin('ai');
  const turns = { seconds, sliceMs: 500, warmupRounds: 3 };
  const others = { sessions, thinkMs: 100, rounds: 3, starts: 7 };
  const report = toReport(await run({ ...turns, ...others }, context), origin);
  const figures = toMarkdown(report);
  if (writes) await writeDocs('bench:runtime', figures);
  return { report, text: ['', ...report.failures, figures].join('\n') };
}
