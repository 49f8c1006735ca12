// `npm run bench:registry`: what agents in Postgres cost beside plain statements of the same database, and
// how that grows from a thousand agents to a hundred thousand.

import { FabricError } from '@starloom/core';
import { emptyDatabase, openEngine } from '@starloom/testkit';
import { type CommandContext, type Measurement, runCommand } from '../command.ts';
import { readOrigin } from '../origin.ts';
import { writeDocs } from '../write-docs.ts';
import { measureMcpRegistry } from './mcp-registry.ts';
import { parseOptions, type RegistryBenchOptions, USAGE } from './options.ts';
import { type Report, ratiosOf, toMarkdown } from './report.ts';
import { measureChanges, measureStep, type StepFigures } from './step.ts';

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

async function bench(options: RegistryBenchOptions, context: CommandContext): Promise<Measurement> {
  const { signal, tell } = context;
  const origin = readOrigin('pg');
  await using engine = await openEngine('postgres');
  const url = await emptyDatabase(engine.url);
  const steps: StepFigures[] = [];
  let from = 0;
  for (const agents of sizesUpTo(options.agents)) {
    tell(`${agents} agents: measuring`);
    steps.push(await measureStep(url, from, agents, signal));
    from = agents;
  }
  tell('changes: measuring');
  const changes = await measureChanges(url, options.changes);
  tell('the MCP Registry server: measuring');
  const failures: string[] = [];
  const rival = await measureMcpRegistry(engine.url, signal).catch((error: unknown) => {
    failures.push(`MCP Registry: ${FabricError.from(error).message} ${String(error)}`);
    return undefined;
  });
  const versions = {
    ...origin.versions,
    postgres: engine.version,
    ...(rival && { mcp_registry: rival.version }),
  };
  const figures = { steps, changes, ...(rival && { mcp_registry: rival }) };
  const report: Report = {
    name: 'bench:registry',
    passed: steps.length + 1 + (rival ? 1 : 0),
    failed: 0,
    skipped: rival ? 0 : 1,
    figures,
    ratios: ratiosOf(steps, changes, rival),
    ...origin,
    versions,
  };
  const text = toMarkdown(report);
  if (options.writeDocs) await writeDocs('bench:registry', text);
  return { report, text: ['', ...failures, text].join('\n') };
}

/** 1,000, 10,000 and so on up to the largest. */
function sizesUpTo(largest: number): number[] {
  const sizes = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000].filter((size) => size < largest);
  return [...sizes, largest];
}
