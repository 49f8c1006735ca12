import type { CommandOptions } from '../../bench/command.ts';
import { parseFlags, parseNames, parseNumber } from '../../bench/flags.ts';
import { ENGINES, type EngineName } from './world.ts';

export interface ProveOptions extends CommandOptions {
  readonly seconds: number;
  readonly seed: number;
  readonly engines: readonly EngineName[];
}

export const USAGE = `npm run prove:jobs -- [options]

  --seconds <n>     how long, per engine, at least (default 30)
  --engine <name>   sqlite, postgres or both (default both)
  --seed <n>        of the choices of clients and faults (default: by the clock)
  --json            print the report as one line of JSON
  --help            print this
`;

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): ProveOptions {
  const { help, json, seconds, seed, engine } = parseFlags(args, FLAGS, USAGE);
  return {
    help,
    json,
    seconds: parseNumber('seconds', seconds, { most: 86_400 }, USAGE),
    seed:
      seed === undefined
        ? Date.now() % 2 ** 32
        : parseNumber('seed', seed, { most: 2 ** 32 }, USAGE),
    engines: engine === 'both' ? ENGINES : parseNames('engine', engine, ENGINES, USAGE),
  };
}

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  seconds: { type: 'string', default: '30' },
  seed: { type: 'string' },
  engine: { type: 'string', default: 'both' },
} as const;
