import type { CommandOptions } from '../command.ts';
import { parseFlags, parseNumber } from '../flags.ts';

export interface IdentityBenchOptions extends CommandOptions {
  readonly writeDocs: boolean;
  readonly seconds: number;
}

export const USAGE = `npm run bench:identity -- [options]

  --seconds <n>    measured per case (default 3)
  --write-docs     put the figures into docs/benchmarks.md
  --json           print the report as one line of JSON
  --help           print this
`;

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): IdentityBenchOptions {
  const { seconds, ...values } = parseFlags(args, FLAGS, USAGE);
  return {
    help: values.help,
    json: values.json,
    writeDocs: values['write-docs'],
    seconds: parseNumber('seconds', seconds, { least: 0.1, most: 3600 }, USAGE),
  };
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'write-docs': { type: 'boolean', default: false },
  seconds: { type: 'string', default: '3' },
} as const;
