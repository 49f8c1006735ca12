// The command line of measuring commands. Anything that is not an option of theirs is BAD_INPUT
// with the reason `usage`.

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { FabricError } from '@starloom/core';

/** `--no-…` turns off what is on by default. */
export function parseFlags<const Flags extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Flags,
  usage: string,
) {
  try {
    return parseArgs({ args: [...args], allowNegative: true, options }).values;
  } catch (cause) {
    throw usageError(cause instanceof Error ? cause.message : 'unknown option', usage);
  }
}

export interface NumberRange {
  readonly least?: number;
  readonly most: number;
}

export function parseNumber(
  name: string,
  text: string,
  { least = 0, most }: NumberRange,
  usage: string,
): number {
  const number = Number(text);
  if (text.trim() !== '' && number >= least && number <= most) return number;
  throw usageError(`--${name} is a number from ${least} to ${most}`, usage);
}

/** Names with commas between them. */
export function parseNames<Name extends string>(
  name: string,
  text: string,
  known: readonly Name[],
  usage: string,
): readonly Name[] {
  return text.split(',').map((each) => {
    const found = known.find((candidate) => candidate === each.trim());
    if (found) return found;
    throw usageError(`--${name}: there is no "${each}"; there are ${known.join(', ')}`, usage);
  });
}

function usageError(message: string, usage: string): FabricError {
  return new FabricError('BAD_INPUT', message, { details: { reason: 'usage', fix: usage } });
}
