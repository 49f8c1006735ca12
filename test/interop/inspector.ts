// The official Inspector's command line, as somebody uses it from a shell.

import { runProgram } from '@starloom/testkit';
import { childEnvironment } from '@starloom/wire';
import { fileOfPackage } from '../support/installed-package.ts';

const INSPECTOR = fileOfPackage(
  '@modelcontextprotocol/inspector',
  'clients/launcher/build/index.js',
);

export interface Inspection {
  readonly code: number | null;
  /** What it printed, as JSON; `undefined` when that is none. */
  readonly answer: unknown;
  readonly stderr: string;
}

/** `home` is where it keeps its own files. */
export async function inspect(home: string, args: readonly string[]): Promise<Inspection> {
  const { code, stdout, stderr } = await runProgram(
    {
      command: process.execPath,
      args: [INSPECTOR, '--cli', ...args, '--format', 'json'],
      env: childEnvironment({ extra: { HOME: home } }),
      limits: { maxLineBytes: 4_194_304 },
    },
    90_000,
  );
  return { code, answer: stdout ? JSON.parse(stdout) : undefined, stderr };
}
