import type { CommandOptions } from './command.ts';
import { parseFlags, parseNames, parseNumber } from './flags.ts';
import { ALL_TARGETS, PEERS, TARGETS, type TargetName } from './plan.ts';

export interface BenchOptions extends CommandOptions {
  readonly writeDocs: boolean;
  readonly pin: boolean;
  readonly seconds: number;
  readonly warmup: number;
  readonly targets: readonly TargetName[];
  readonly repeats: number;
  readonly soak: boolean;
}

export const USAGE = `npm run bench -- [options]

  --seconds <n>     measured per cell and target (default 10)
  --warmup <n>      before that, per target (default 20)
  --targets <list>  of ${ALL_TARGETS.join(', ')}
                    (default ${TARGETS.join(', ')})
  --peers           measure ${PEERS.join(', ')} as well; installs them once
  --repeats <n>     how often a disturbed slice is measured again (default 3)
  --soak            memory after 100,000 calls and a minute idle as well
  --no-pin          do not give the proxy a core of its own
  --write-docs      put the figures into docs/benchmarks.md
  --json            print the report as one line of JSON
  --help            print this
`;

const MAX_LENGTH = { most: 3600 };
const MAX_REPEATS = { most: 100 };

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { seconds, warmup, targets, repeats, ...values } = parseFlags(args, FLAGS, USAGE);
  const named = parseNames('targets', targets, ALL_TARGETS, USAGE);
  return {
    help: values.help,
    json: values.json,
    writeDocs: values['write-docs'],
    pin: values.pin,
    seconds: parseNumber('seconds', seconds, MAX_LENGTH, USAGE),
    warmup: parseNumber('warmup', warmup, MAX_LENGTH, USAGE),
    targets: [...new Set([...named, ...(values.peers ? PEERS : [])])],
    repeats: parseNumber('repeats', repeats, MAX_REPEATS, USAGE),
    soak: values.soak,
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
  peers: { type: 'boolean', default: false },
  repeats: { type: 'string', default: '3' },
  soak: { type: 'boolean', default: false },
} as const;
