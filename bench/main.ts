// `npm run bench`: what a call through the gateway costs, beside a bare proxy and no proxy at all.

import { FabricError } from '@starloom/core';
import { leaveProxyCore, splitCores } from './cores.ts';
import { type CommandOptions, parseOptions, USAGE } from './options.ts';
import { readOrigin } from './origin.ts';
import { toReport } from './report.ts';
import { run } from './run.ts';
import { toMarkdown } from './table.ts';
import { writeDocs } from './write-docs.ts';

const EXIT_USAGE = 64;

try {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(USAGE);
  else await bench(options);
} catch (thrown) {
  const error = FabricError.from(thrown);
  tell(`${error.message}\n${JSON.stringify(error.details, null, 2)}`);
  process.exitCode = error.details.reason === 'usage' ? EXIT_USAGE : error.row.exit;
}

async function bench({ json, pin, writeDocs: writes, ...asked }: CommandOptions): Promise<void> {
  const origin = readOrigin();
  const cores = pin ? splitCores() : undefined;
  if (cores) leaveProxyCore(cores);
  else tell('the proxy shares its core: ratios will be flattered by what the others cost');
  const options = { ...asked, cores, sliceMs: 1000, rampMs: 200, startups: 3 };
  const measured = await run(options, { signal: untilStopped(), tell });
  const report = toReport(measured, origin);
  const figures = toMarkdown(report);
  for (const failure of report.failures) tell(failure);
  if (writes) await writeDocs(figures);
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`);
  else tell(`\n${figures}`);
  if (report.failed > 0) process.exitCode = 1;
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
