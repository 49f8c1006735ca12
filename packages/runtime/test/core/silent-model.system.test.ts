import { fileURLToPath } from 'node:url';
import { runProgram } from '@starloom/testkit';
import { expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('fixtures/silent-model.ts', import.meta.url));

it('keeps the process while a turn runs, and lets it end when none does', async () => {
  const args = ['--conditions=@starloom/source', PROGRAM];
  const { code, stdout } = await runProgram({ command: process.execPath, args });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'TIMEOUT' });
});
