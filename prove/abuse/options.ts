import type { CommandOptions } from '../../bench/command.ts';
import { parseFlags, parseNames, parseNumber } from '../../bench/flags.ts';
import { ATTACKS, type AttackName } from './attacks/index.ts';
import { SHUTDOWN } from './shutdown.ts';
import { FLOORS, type Floors } from './verdict.ts';

export type RunName = AttackName | typeof SHUTDOWN;

const NAMES = [...Object.keys(ATTACKS), SHUTDOWN] as readonly RunName[];

export interface ProveOptions extends CommandOptions {
  readonly attacks: readonly RunName[];
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly quietSeconds: number;
  readonly rounds: number;
  readonly repeats: number;
  readonly floors: Floors;
  readonly writeDocs: boolean;
}

export const USAGE = `npm run prove:abuse -- [options]

  --attack <names>    with commas between them (default: all)
                      ${NAMES.join('\n                      ')}
  --rounds <n>        how often each attack is made after the first time, with a quiet time before (default 2)
  --repeats <n>       rounds more, at most, where other programs took more than a tenth of the cores, or the host
                      took them away half of the time (default 2)
  --warmup <n>        seconds of calls before anything is measured (default 10)
  --seconds <n>       how long an attack goes on, roughly (default 5)
  --quiet <n>         seconds without an attack, to compare with (default 4)
  --floor-ms <n>      a p99 up to this is never too slow (default ${FLOORS.ms})
  --floor-mb <n>      memory up to so much above that before is never too large (default ${FLOORS.mb})
  --write-docs        put the figures into docs/proving.md
  --json              print the report as one line of JSON
  --help              print this
`;

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): ProveOptions {
  const flags = parseFlags(args, FLAGS, USAGE);
  const { help, json, attack, seconds, quiet } = flags;
  return {
    help,
    json,
    writeDocs: flags['write-docs'],
    attacks: attack === 'all' ? NAMES : parseNames('attack', attack, NAMES, USAGE),
    warmUpSeconds: parseNumber('warmup', flags.warmup, { least: 0, most: 600 }, USAGE),
    seconds: parseNumber('seconds', seconds, { most: 600 }, USAGE),
    quietSeconds: parseNumber('quiet', quiet, { least: 0.5, most: 600 }, USAGE),
    rounds: parseNumber('rounds', flags.rounds, { most: 100 }, USAGE),
    repeats: parseNumber('repeats', flags.repeats, { least: 0, most: 100 }, USAGE),
    floors: {
      ms: parseNumber('floor-ms', flags['floor-ms'], { most: 600_000 }, USAGE),
      mb: parseNumber('floor-mb', flags['floor-mb'], { most: 100_000 }, USAGE),
    },
  };
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'write-docs': { type: 'boolean', default: false },
  attack: { type: 'string', default: 'all' },
  rounds: { type: 'string', default: '2' },
  repeats: { type: 'string', default: '2' },
  warmup: { type: 'string', default: '10' },
  seconds: { type: 'string', default: '5' },
  quiet: { type: 'string', default: '4' },
  'floor-ms': { type: 'string', default: String(FLOORS.ms) },
  'floor-mb': { type: 'string', default: String(FLOORS.mb) },
} as const;
