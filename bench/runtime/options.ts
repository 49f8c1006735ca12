import type { CommandOptions } from '../command.ts';
import { parseFlags, parseNumber } from '../flags.ts';

export interface RuntimeBenchOptions extends CommandOptions {
  readonly writeDocs: boolean;
  readonly seconds: number;
  readonly sessions: number;
}

export const USAGE = `npm run bench:runtime -- [options]

  --seconds <n>     of turns measured per cell and loop (default 5)
  --sessions <n>    at once in one process (default 1000)
  --write-docs      put the figures into docs/benchmarks.md
  --json            print the report as one line of JSON
  --help            print this
`;

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): RuntimeBenchOptions {
  const { seconds, sessions, ...values } = parseFlags(args, FLAGS, USAGE);
  return {
    help: values.help,
    json: values.json,
    writeDocs: values['write-docs'],
    seconds: parseNumber('seconds', seconds, { most: 3600 }, USAGE),
    sessions: parseNumber('sessions', sessions, { least: 1, most: 100_000 }, USAGE),
  };
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'write-docs': { type: 'boolean', default: false },
  seconds: { type: 'string', default: '5' },
  sessions: { type: 'string', default: '1000' },
} as const;
