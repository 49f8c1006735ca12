// What the files of commands share: the options of all of them, actions, help and the values of options.

import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import type { Terminal } from './terminal.ts';

export interface GlobalOptions {
  readonly json?: boolean;
  readonly config?: string;
}

type Run = (terminal: Terminal, ...given: never[]) => Promise<void> | void;

/**
 * Runs a command with the terminal, its arguments, and its options with the global ones. A command that
 * needs large packages has a file of its own, which `load` imports.
 */
export function action(
  terminal: Terminal,
  load: () => Run | Promise<Run>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    const values = [...given.slice(0, -2), command.optsWithGlobals()];
    const run = await load();
    await run(terminal, ...(values as never[]));
  };
}

/** Asks a person for a yes; `undefined` where none can be asked. */
export async function confirm(terminal: Terminal, question: string): Promise<boolean | undefined> {
  const answer = await terminal.ask(`${question} [y/N] `);
  return answer === undefined ? undefined : /^y(es)?$/i.test(answer.trim());
}

/** Terminals have this many columns at least. */
const HELP_WIDTH = 80;

/** Puts examples before everything else in `--help`: what people type, and what it does. */
export function withExamples(
  command: Command,
  rows: readonly (readonly [command: string, does: string])[],
): Command {
  const width = Math.max(...rows.map(([typed]) => typed.length));
  const beside = rows.map(([typed, does]) => `  ${typed.padEnd(width)}  ${does}`.trimEnd());
  const below = rows.flatMap(([typed, does]) => [`  ${typed}`, ...(does ? [`      ${does}`] : [])]);
  const lines = beside.every((line) => line.length <= HELP_WIDTH) ? beside : below;
  return command.addHelpText('before', ['Examples:', ...lines, ''].join('\n'));
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90d`, `12h`, `30m`, `45s` or `0`, in milliseconds. */
export function toDurationMs(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return Number(count) * UNITS[unit as keyof typeof UNITS];
  if (text === '0') return 0;
  throw new InvalidArgumentError('expected a number with s, m, h or d, such as 12h.');
}

/** Reads the number of an option; `expected` completes the message for any other text. */
export function toNumber(
  expected: string,
  { min = 0, max = Number.POSITIVE_INFINITY, isWhole = true } = {},
): (text: string) => number {
  return (text) => {
    const number = Number(text);
    const isKind = text !== '' && (!isWhole || Number.isInteger(number));
    if (isKind && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`expected ${expected}.`);
  };
}

export const toCount = toNumber('a number');
export const toLimit = toNumber('a number from 1 to 1000', { min: 1, max: 1_000 });
export const toPort = toNumber('a number from 0 to 65535', { max: 65_535 });

/** Of an option that may be given several times. */
export function toList(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

export function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** How long a stopped process waits for a reader of its output. */
const UNREAD_MS = 1_000;

let isAsked = false;

/** Resolves on SIGTERM or SIGINT; a second one ends the process at once. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    const onSignal = () => {
      if (isAsked) process.exit(130);
      isAsked = true;
      resolve();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/** To be called at the end: after a signal, unread output delays the exit by `UNREAD_MS` at most. */
export function leaveUnread(): void {
  if (isAsked) setTimeout(() => process.exit(), UNREAD_MS).unref();
}
