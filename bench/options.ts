import { parseArgs } from 'node:util';
import { FabricError } from '@starloom/core';
import { TARGETS, type TargetName } from './plan.ts';

export interface CommandOptions {
  readonly help: boolean;
  readonly json: boolean;
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

/** BAD_INPUT for anything that is not an option of ours. */
export function parseOptions(args: readonly string[]): CommandOptions {
  const { values } = parse(args);
  return {
    help: values.help,
    json: values.json,
    writeDocs: values['write-docs'],
    pin: values.pin,
    seconds: toSeconds('seconds', values.seconds),
    warmup: toSeconds('warmup', values.warmup),
    targets: values.targets.split(',').map(toTarget),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        help: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        'write-docs': { type: 'boolean', default: false },
        pin: { type: 'boolean', default: true },
        seconds: { type: 'string', default: '10' },
        warmup: { type: 'string', default: '20' },
        targets: { type: 'string', default: TARGETS.join(',') },
      },
    });
  } catch (cause) {
    throw usageError(cause instanceof Error ? cause.message : 'unknown option');
  }
}

function toSeconds(name: string, text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && seconds >= 0 && seconds <= 3600) return seconds;
  throw usageError(`--${name} is a number of seconds from 0 to 3600`);
}

function toTarget(text: string): TargetName {
  const target = TARGETS.find((name) => name === text.trim());
  if (target) return target;
  throw usageError(`--targets: there is no "${text}"; there are ${TARGETS.join(', ')}`);
}

function usageError(message: string): FabricError {
  return new FabricError('BAD_INPUT', message, { details: { reason: 'usage', fix: USAGE } });
}
