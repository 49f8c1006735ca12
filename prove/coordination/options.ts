import { parseArgs } from 'node:util';
import { FabricError } from '@starloom/core';
import { STORES, type StoreName } from './world.ts';

export interface CommandOptions {
  readonly help: boolean;
  readonly json: boolean;
  readonly seconds: number;
  readonly seed: number;
  readonly stores: readonly StoreName[];
}

export const USAGE = `npm run prove:coordination -- [options]

  --seconds <n>    how long, per store (default 30)
  --store <name>   embedded, redis or both (default both)
  --seed <n>       of the choices of clients and faults (default: by the clock)
  --json           print the report as one line of JSON
  --help           print this
`;

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): CommandOptions {
  const { help, json, seconds, seed, store } = parse(args);
  return {
    help,
    json,
    seconds: toNumber('seconds', seconds, 86_400),
    seed: seed === undefined ? Date.now() % 2 ** 32 : toNumber('seed', seed, 2 ** 32),
    stores: toStores(store),
  };
}

function parse(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        seconds: { type: 'string', default: '30' },
        seed: { type: 'string' },
        store: { type: 'string', default: 'both' },
      },
    });
    return values;
  } catch (cause) {
    throw usageError(cause instanceof Error ? cause.message : 'unknown option');
  }
}

function toNumber(name: string, text: string, most: number): number {
  const number = Number(text);
  if (text.trim() !== '' && number >= 0 && number <= most) return number;
  throw usageError(`--${name} is a number from 0 to ${most}`);
}

function toStores(text: string): readonly StoreName[] {
  if (text === 'both') return STORES;
  const store = STORES.find((name) => name === text);
  if (store) return [store];
  throw usageError(`--store is ${STORES.join(', ')} or both`);
}

function usageError(message: string): FabricError {
  return new FabricError('BAD_INPUT', message, { details: { reason: 'usage', fix: USAGE } });
}
