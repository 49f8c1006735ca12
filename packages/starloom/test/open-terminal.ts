import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { childEnvironment } from '@starloom/wire';
import { expect } from 'vitest';
import { LAUNCHER } from './run-starloom.ts';

export const CTRL_C = '\x03';
export const ENTER = '\r';

export interface OpenTerminal extends AsyncDisposable {
  /** Keys, as a person presses them. */
  press(keys: string): void;
  /** Waits until what is new on the screen matches; what matched is old from then on. */
  shows(expected: RegExp): Promise<void>;
  /** All that was written so far, with its escape sequences. */
  readonly written: string;
  readonly exited: Promise<number | null>;
}

export interface TerminalPlace {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** `starloom …` on a terminal of its own, which `script` of util-linux makes. */
export function openTerminal({ folder, env }: TerminalPlace, ...args: string[]): OpenTerminal {
  const words = [process.execPath, LAUNCHER, ...args].map(quote).join(' ');
  // `exec`, as a shell that waits for starloom would be ended by Ctrl-C and answer with its own code.
  const command = `exec ${words}`;
  const child = spawn(
    'script',
    ['--quiet', '--flush', '--return', '--command', command, '/dev/null'],
    { cwd: folder, env: childEnvironment({ extra: { ...env, TERM: 'xterm' } }) },
  );
  let screen = '';
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    written += text;
  });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return {
    exited,
    get written() {
      return written;
    },
    press: (keys) => void child.stdin.write(keys),
    async shows(expected) {
      const plain = () => stripVTControlCharacters(screen);
      await expect.poll(plain, { timeout: 30_000 }).toMatch(expected);
      screen = '';
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
