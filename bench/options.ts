import type { CommandOptions } from './command.ts';
import { parseFlags, parseNames, parseNumber } from './flags.ts';
import { TARGETS, type TargetName } from './plan.ts';

export interface BenchOptions extends CommandOptions {
  readonly writeDocs: boolean;
  readonly pin: boolean;
  readonly seconds: number;
  readonly warmup: number;
  readonly targets: readonly TargetName[];
}

export const USAGE = `npm run bench -- [options]

  --seconds <n>     measured per cell and target (default 10)
  --warmup <n>      before that, per target (default 20)
  --targets <list>  of ${TARGETS.join(', ')} (default all)
  --no-pin          do not give the proxy a core of its own
  --write-docs      put the figures into docs/benchmarks.md
  --json            print the report as one line of JSON
  --help            print this
`;

const LONGEST = { most: 3600 };

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { seconds, warmup, targets, ...values } = parseFlags(args, FLAGS, USAGE);
  return {
    help: values.help,
    json: values.json,
    writeDocs: values['write-docs'],
    pin: values.pin,
    seconds: parseNumber('seconds', seconds, LONGEST, USAGE),
    warmup: parseNumber('warmup', warmup, LONGEST, USAGE),
    targets: parseNames('targets', targets, TARGETS, USAGE),
  };
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'write-docs': { type: 'boolean', default: false },
  pin: { type: 'boolean', default: true },
  seconds: { type: 'string', default: '10' },
  warmup: { type: 'string', default: '20' },
  targets: { type: 'string', default: TARGETS.join(',') },
} as const;
