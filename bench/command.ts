// What every measuring command has in common: its usage, Ctrl-C, words for people on stderr, the
// report as one line of JSON last on stdout, and an exit code that says whether all was right.

import { FabricError } from '@starloom/core';
import type { Origin } from './origin.ts';

export interface CommandOptions {
  readonly help: boolean;
  readonly json: boolean;
}

export interface CommandContext {
  /** Aborts on Ctrl-C, after which everything that was started is to be stopped. */
  readonly signal: AbortSignal;
  /** Word on how far the run is. */
  readonly tell: (line: string) => void;
}

/** The shape that CONTRACTS gives to the reports of all measuring commands. */
export interface MeasuringReport extends Pick<Origin, 'versions' | 'commit'> {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly figures: object;
  readonly ratios: Readonly<Record<string, number>>;
}

export interface Command<Options extends CommandOptions> {
  readonly usage: string;
  readonly parse: (args: readonly string[]) => Options;
  /** The report, and the same for people. */
  readonly run: (options: Options, context: CommandContext) => Promise<Measurement>;
}

export interface Measurement {
  readonly report: MeasuringReport;
  readonly text: string;
}

const EXIT_FAILED = 1;
const EXIT_USAGE = 64;

export async function runCommand<Options extends CommandOptions>(
  command: Command<Options>,
): Promise<void> {
  try {
    const options = command.parse(process.argv.slice(2));
    if (options.help) process.stdout.write(command.usage);
    else await measure(command, options);
  } catch (thrown) {
    const error = FabricError.from(thrown);
    tell(`${error.message}\n${JSON.stringify(error.details, null, 2)}`);
    if (error.code === 'INTERNAL' && error.cause instanceof Error) tell(String(error.cause.stack));
    process.exitCode = error.details.reason === 'usage' ? EXIT_USAGE : error.row.exit;
  }
}

async function measure<Options extends CommandOptions>(
  { run }: Command<Options>,
  options: Options,
): Promise<void> {
  const { report, text } = await run(options, { signal: untilStopped(), tell });
  tell(text);
  if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`);
  if (report.failed > 0) process.exitCode = EXIT_FAILED;
}

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
