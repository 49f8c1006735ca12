import type { CommandOptions } from '../../bench/command.ts';
import { parseFlags, parseNames, parseNumber } from '../../bench/flags.ts';
import { ATTACKS, type AttackName } from './attacks/index.ts';
import { SHUTDOWN } from './shutdown.ts';
import { FLOORS, type Floors } from './verdict.ts';

export type RunName = AttackName | typeof SHUTDOWN;

const NAMES = [...Object.keys(ATTACKS), SHUTDOWN] as readonly RunName[];

export interface ProveOptions extends CommandOptions {
  readonly attacks: readonly RunName[];
  readonly seconds: number;
  readonly quietSeconds: number;
  readonly floors: Floors;
}

export const USAGE = `npm run prove:abuse -- [options]

  --attack <names>    with commas between them (default: all)
                      ${NAMES.join('\n                      ')}
  --seconds <n>       how long each attack goes on, roughly (default 10)
  --quiet <n>         seconds without an attack, to compare with (default 4)
  --floor-ms <n>      a p99 up to this is never too slow (default ${FLOORS.ms})
  --floor-mb <n>      memory up to so much above that before is never too large (default ${FLOORS.mb})
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
    attacks: attack === 'all' ? NAMES : parseNames('attack', attack, NAMES, USAGE),
    seconds: parseNumber('seconds', seconds, { most: 600 }, USAGE),
    quietSeconds: parseNumber('quiet', quiet, { least: 0.5, most: 600 }, USAGE),
    floors: {
      ms: parseNumber('floor-ms', flags['floor-ms'], { most: 600_000 }, USAGE),
      mb: parseNumber('floor-mb', flags['floor-mb'], { most: 100_000 }, USAGE),
    },
  };
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  attack: { type: 'string', default: 'all' },
  seconds: { type: 'string', default: '10' },
  quiet: { type: 'string', default: '4' },
  'floor-ms': { type: 'string', default: String(FLOORS.ms) },
  'floor-mb': { type: 'string', default: String(FLOORS.mb) },
} as const;
