import { FabricError } from '@starloom/core';
import type { KeyPath } from './key-path.ts';

/** One mistake in a configuration: where it stands, what is wrong, what to write instead. */
export interface Problem {
  /** The file; `$NAME` or `--name` when the value came from a variable or a flag. */
  readonly file: string;
  /** From 1; absent when the whole file, a variable or a flag is meant. */
  readonly line?: number;
  readonly column?: number;
  /** The key's path, such as `auth.psk[0].key`; empty when the whole file is meant. */
  readonly key: string;
  /** Never holds a value that could be a secret. */
  readonly message: string;
  readonly fix: string;
}

export interface ConfigSchemaProblem {
  readonly path: KeyPath;
  /** The part of the entry that is wrong: its name or its value. */
  readonly at: 'key' | 'value';
  readonly message: string;
  readonly fix: string;
  /** The key that an unknown one was probably meant to be. */
  readonly meant?: KeyPath;
}

/** Every problem at once, as the one error; the message tells the first. */
export function configError(problems: readonly Problem[]): FabricError {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  const message = first === undefined ? 'The configuration is bad' : toLine(first) + more;
  return new FabricError('BAD_INPUT', message, { details: { reason: 'config', problems } });
}

/** By line and column; what has no line comes last, as found. */
export function inFileOrder(problems: readonly Problem[]): Problem[] {
  const last = Number.MAX_SAFE_INTEGER;
  return problems.toSorted(
    (one, other) =>
      (one.line ?? last) - (other.line ?? last) || (one.column ?? last) - (other.column ?? last),
  );
}

/** The problems of an error made by `configError`; `undefined` for any other value. */
export function problemsOf(error: unknown): readonly Problem[] | undefined {
  if (!FabricError.is(error) || error.details.reason !== 'config') return undefined;
  return error.details.problems as readonly Problem[];
}

export function placeOf({ file, line, column }: Problem): string {
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}

export function toProblemText(problem: Problem): string {
  return `${toLine(problem)}; ${problem.fix}`;
}

function toLine(problem: Problem): string {
  const what = problem.key === '' ? problem.message : `${problem.key}: ${problem.message}`;
  return `${placeOf(problem)} ${what}`;
}
