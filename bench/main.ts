// `npm run bench`: what a call through the gateway costs, beside a bare proxy, no proxy at all, and
// with `--peers` proxies of other projects.

import { type CommandContext, type Measurement, runCommand } from './command.ts';
import { leaveProxyCore, splitCores } from './cores.ts';
import { type BenchOptions, parseOptions, USAGE } from './options.ts';
import { readOrigin } from './origin.ts';
import { isPeer } from './plan.ts';
import { toReport } from './report.ts';
import { run } from './run.ts';
import { toMarkdown } from './table.ts';
import { PEER_PROGRAMS } from './targets/peers.ts';
import { buildCommand } from './targets/starloom.ts';
import { writeDocs } from './write-docs.ts';

const SOAK = { calls: 100_000, idleMs: 60_000 };

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

async function bench(
  { pin, writeDocs: writes, soak, ...asked }: BenchOptions,
  context: CommandContext,
): Promise<Measurement> {
  const origin = readOrigin('undici');
  const peers = asked.targets.filter(isPeer).map((name) => [name, PEER_PROGRAMS[name].version]);
  const versions = { ...origin.versions, ...Object.fromEntries(peers) };
  const cores = pin ? splitCores() : undefined;
  if (cores) leaveProxyCore(cores);
  else context.tell('the proxy shares its core: ratios will be flattered by what the others cost');
  context.tell('building the command as it is packed');
  const command = await buildCommand();
  const lengths = { sliceMs: 1000, rampMs: 200, startups: 3, soak: soak ? SOAK : undefined };
  const options = { ...asked, ...lengths, command, cores };
  const report = toReport(await run(options, context), { ...origin, versions });
  const figures = toMarkdown(report);
  if (writes) await writeDocs('bench', figures);
  return { report, text: ['', ...report.failures, figures].join('\n') };
}
