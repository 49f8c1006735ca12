// `npm run bench:jobs`: what a durable job costs beside the engines it stands on, how soon its events
// arrive, and whether finished jobs make others slower.

import { FabricError } from '@starloom/core';
import { type CommandContext, type Measurement, runCommand } from '../command.ts';
import { readOrigin } from '../origin.ts';
import { writeDocs } from '../write-docs.ts';
import { measureGrowth } from './growth-part.ts';
import { type JobsBenchOptions, parseOptions, USAGE } from './options.ts';
import { measurePostgres } from './postgres-part.ts';
import { type Figures, toMarkdown, toReport } from './report.ts';
import { measureSqlite } from './sqlite-part.ts';
import { measureStreams } from './streams-part.ts';

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

async function bench(options: JobsBenchOptions, context: CommandContext): Promise<Measurement> {
  const { seconds, streams, finished, parts } = options;
  const { signal, tell } = context;
  const origin = readOrigin('pg-boss');
  const failures: string[] = [];
  const part = async <Result>(name: (typeof parts)[number], work: () => Promise<Result>) => {
    if (!parts.includes(name)) return undefined;
    tell(`${name}: measuring`);
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      const { message, cause } = FabricError.from(error);
      failures.push(`${name}: ${message} ${cause instanceof Error ? cause.message : ''}`);
      return undefined;
    }
  };
  const sqlite = await part('sqlite', () => measureSqlite(seconds, signal));
  const postgres = await part('postgres', () => measurePostgres(seconds, signal));
  const streamed = await part('streams', () => measureStreams(streams, signal));
  const growth = await part('growth', () => measureGrowth(finished, seconds, signal));
  const figures: Figures = {
    ...(sqlite && { sqlite }),
    ...(postgres && { postgres: postgres.rates }),
    ...(streamed && { streams: streamed }),
    ...(growth && { growth }),
  };
  const versions = { ...origin.versions, ...(postgres && { postgres: postgres.version }) };
  const report = toReport(figures, { ...origin, versions }, failures);
  const text = toMarkdown(report);
  if (options.writeDocs) await writeDocs('bench:jobs', text);
  return { report, text: ['', ...failures, text].join('\n') };
}
