import type { CommandOptions } from '../command.ts';
import { parseFlags, parseNumber } from '../flags.ts';

export interface RegistryBenchOptions extends CommandOptions {
  readonly writeDocs: boolean;
  readonly agents: number;
  readonly changes: number;
}

export const USAGE = `npm run bench:registry -- [options]

  --agents <n>     agents of three capabilities each in the largest step (default 100000)
  --changes <n>    changes that are followed from one gateway to another (default 300)
  --write-docs     put the figures into docs/benchmarks.md
  --json           print the report as one line of JSON
  --help           print this
`;

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): RegistryBenchOptions {
  const { agents, changes, ...values } = parseFlags(args, FLAGS, USAGE);
  return {
    help: values.help,
    json: values.json,
    writeDocs: values['write-docs'],
    agents: parseNumber('agents', agents, { least: 100, most: 1_000_000 }, USAGE),
    changes: parseNumber('changes', changes, { least: 10, most: 10_000 }, USAGE),
  };
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'write-docs': { type: 'boolean', default: false },
  agents: { type: 'string', default: '100000' },
  changes: { type: 'string', default: '300' },
} as const;
