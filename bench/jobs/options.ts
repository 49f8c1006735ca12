import type { CommandOptions } from '../command.ts';
import { parseFlags, parseNames, parseNumber } from '../flags.ts';

export const PARTS = ['sqlite', 'postgres', 'streams', 'growth'] as const;
export type PartName = (typeof PARTS)[number];

export interface JobsBenchOptions extends CommandOptions {
  readonly writeDocs: boolean;
  readonly seconds: number;
  readonly streams: number;
  readonly finished: number;
  readonly parts: readonly PartName[];
}

export const USAGE = `npm run bench:jobs -- [options]

  --seconds <n>    measured per target (default 10)
  --streams <n>    streams that wait in one process (default 10000)
  --finished <n>   finished jobs in the file whose cost is compared (default 1000000)
  --parts <list>   of ${PARTS.join(', ')} (default all)
  --write-docs     put the figures into docs/benchmarks.md
  --json           print the report as one line of JSON
  --help           print this
`;

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): JobsBenchOptions {
  const { seconds, streams, finished, parts, ...values } = parseFlags(args, FLAGS, USAGE);
  return {
    help: values.help,
    json: values.json,
    writeDocs: values['write-docs'],
    seconds: parseNumber('seconds', seconds, { most: 3600 }, USAGE),
    streams: parseNumber('streams', streams, { least: 1, most: 1_000_000 }, USAGE),
    finished: parseNumber('finished', finished, { least: 1, most: 100_000_000 }, USAGE),
    parts: parseNames('parts', parts, PARTS, USAGE),
  };
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'write-docs': { type: 'boolean', default: false },
  seconds: { type: 'string', default: '10' },
  streams: { type: 'string', default: '10000' },
  finished: { type: 'string', default: '1000000' },
  parts: { type: 'string', default: PARTS.join(',') },
} as const;
