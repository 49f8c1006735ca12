import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { childEnvironment } from '@starloom/wire';
import { expect } from 'vitest';
import type { AgentWorld } from './agent-world.ts';
import { LAUNCHER } from './run-starloom.ts';

export const CTRL_C = '\x03';
export const CTRL_D = '\x04';
export const TAB = '\t';
export const ENTER = '\r';

export interface AgentTerminal extends AsyncDisposable {
  /** Keys, as somebody presses them. */
  press(keys: string): void;
  /** Waits until what is new on the screen matches; what matched is old from then on. */
  shows(expected: RegExp): Promise<void>;
  readonly exited: Promise<number | null>;
}

/** `starloom agent …` on a terminal of its own, which `script` of util-linux makes. */
export function openAgentTerminal({ folder, env }: AgentWorld, ...args: string[]): AgentTerminal {
  const command = [process.execPath, LAUNCHER, 'agent', ...args].map(quote).join(' ');
  const child = spawn(
    'script',
    ['--quiet', '--flush', '--return', '--command', command, '/dev/null'],
    {
      cwd: folder,
      env: childEnvironment({ extra: { ...env, TERM: 'xterm' } }),
    },
  );
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return {
    exited,
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
