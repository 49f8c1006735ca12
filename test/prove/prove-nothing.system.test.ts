import { fileURLToPath } from 'node:url';
import { runProgram } from '@starloom/testkit';
import { expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../prove/coordination/main.ts', import.meta.url));

it('fails when it did nothing, and says what is missing', async () => {
  const asked = ['--seconds', '0', '--store', 'embedded', '--json'];
  const args = ['--conditions=@starloom/source', MAIN, ...asked];
  const { code, stdout, stderr } = await runProgram({ command: process.execPath, args });
  expect(code).toBe(1);
  expect(stderr).toContain('missing: embedded: no operation');
  expect(stderr).toContain('kill_gateway');
  const report = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  expect(report).toMatchObject({ violations: 0, operations: 0 });
  expect(report.failed).toBeGreaterThan(0);
});
