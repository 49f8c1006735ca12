import type { CommandOptions } from '../command.ts';
import { parseFlags, parseNames, parseNumber } from '../flags.ts';
import { PARTS, type PartName } from './plan.ts';

export interface CoordinationBenchOptions extends CommandOptions {
  readonly writeDocs: boolean;
  readonly pin: boolean;
  readonly seconds: number;
  readonly warmup: number;
  readonly parts: readonly PartName[];
}

export const USAGE = `npm run bench:coordination -- [options]

  --seconds <n>   measured per cell and target, and of the fan-out (default 10)
  --warmup <n>    before that, per cell and target (default 3)
  --parts <list>  of ${PARTS.join(', ')} (default all)
  --no-pin        do not give the gateway a core of its own
  --write-docs    put the figures into docs/benchmarks.md
  --json          print the report as one line of JSON
  --help          print this
`;

const MAX_LENGTH = { most: 3600 };

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): CoordinationBenchOptions {
  const { seconds, warmup, parts, ...values } = parseFlags(args, FLAGS, USAGE);
  return {
    help: values.help,
    json: values.json,
    writeDocs: values['write-docs'],
    pin: values.pin,
    seconds: parseNumber('seconds', seconds, MAX_LENGTH, USAGE),
    warmup: parseNumber('warmup', warmup, MAX_LENGTH, USAGE),
    parts: parseNames('parts', parts, PARTS, USAGE),
  };
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'write-docs': { type: 'boolean', default: false },
  pin: { type: 'boolean', default: true },
  seconds: { type: 'string', default: '10' },
  warmup: { type: 'string', default: '3' },
  parts: { type: 'string', default: PARTS.join(',') },
} as const;
