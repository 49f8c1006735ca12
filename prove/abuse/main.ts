// `npm run prove:abuse`: attacks on a running gateway beside a client that must not notice them.

import { type CommandContext, type Measurement, runCommand } from '../../bench/command.ts';
import { readOrigin } from '../../bench/origin.ts';
import { buildCommand } from '../../bench/targets/starloom.ts';
import { writeDocs } from '../../bench/write-docs.ts';
import { type AttackResult, brokenOff, runAttack } from './campaign.ts';
import { type ProveOptions, parseOptions, type RunName, USAGE } from './options.ts';
import { toLine, toMarkdown, toReport, toText } from './report.ts';
import { runShutdown, SHUTDOWN } from './shutdown.ts';

const PAGE = new URL('../../docs/proving.md', import.meta.url);

await runCommand({ usage: USAGE, parse: parseOptions, run: prove });

async function prove(options: ProveOptions, context: CommandContext): Promise<Measurement> {
  const { signal, tell } = context;
  tell('building what npm pack ships');
  const command = await buildCommand();
  const run = (name: RunName) =>
    name === SHUTDOWN ? runShutdown(signal) : runAttack(name, { ...options, command, signal });
  const results: AttackResult[] = [];
  for (const name of options.attacks) {
    const result = await run(name).catch((cause: unknown) => {
      signal.throwIfAborted();
      return brokenOff(name, cause);
    });
    tell(toLine(result));
    results.push(result);
  }
  const origin = readOrigin();
  if (options.writeDocs) await writeDocs('prove:abuse', toMarkdown(results, origin), PAGE);
  const report = toReport(results, options, origin);
  return { report, text: toText(report, results) };
}
