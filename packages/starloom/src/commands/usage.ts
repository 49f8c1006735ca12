import { USAGE_KEYS, type UsageKey } from '@starloom/core';
import { type Command, Option } from 'commander';
import { action, type GlobalOptions, withExamples } from '../command-line.ts';
import { connectToGateway } from '../gateway-client.ts';
import { usageCsv, usageTable } from '../journal-view.ts';
import type { Terminal } from '../terminal.ts';
import { toMoment } from './calls.ts';

interface UsageOptions extends GlobalOptions {
  readonly by: UsageKey;
  readonly since?: number;
  readonly until?: number;
  readonly caller?: string;
  readonly csv?: true;
}

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [
    ['starloom usage --by caller --since 30d', 'who called how much'],
    ['starloom usage --by day --csv', 'for a spreadsheet'],
  ])
    .addOption(new Option('--by <key>', 'what is summed up').choices(USAGE_KEYS).default('tool'))
    .option('--since <time>', 'from this day on: 7d, or a date', toMoment)
    .option('--until <time>', 'days before', toMoment)
    .option('--caller <principal>', 'only of this caller')
    .option('--csv', 'print comma-separated values')
    .action(action(terminal, () => showUsage));
}

async function showUsage(terminal: Terminal, options: UsageOptions): Promise<void> {
  const { by, since, until, caller, csv, json } = options;
  await using client = await connectToGateway(terminal);
  const { rows } = await client.call('fabric.usage', { by, since, until, principal: caller });
  if (json) return terminal.json({ by, rows });
  if (csv) return terminal.print(usageCsv(by, rows));
  if (rows.length === 0) return terminal.tell('no calls');
  terminal.print(usageTable(by, rows, terminal.columns));
}
