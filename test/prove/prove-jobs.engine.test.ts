import { fileURLToPath } from 'node:url';
import { describeWithEngine, runProgram } from '@starloom/testkit';
import { expect, it } from 'vitest';

/** A hang guard, not a measure. */
const MAX_MS = 170_000;
const MAIN = fileURLToPath(new URL('../../prove/jobs/main.ts', import.meta.url));

describeWithEngine('postgres', () => {
  for (const engine of ['sqlite', 'postgres']) {
    it(`finds no violation on ${engine} while things break`, async () => {
      const asked = ['--seconds', '10', '--engine', engine, '--json'];
      const args = ['--conditions=@starloom/source', MAIN, ...asked];
      const run = await runProgram({ command: process.execPath, args }, MAX_MS);
      const report = JSON.parse(run.stdout.trim().split('\n').at(-1) || '{}');
      expect({ found: report.found, stderr: report.violations === 0 ? '' : run.stderr }).toEqual({
        found: [],
        stderr: '',
      });
      expect(report).toMatchObject({ name: 'prove:jobs', violations: 0 });
      expect(report.jobs).toBeGreaterThan(10);
      expect(Object.values(report.figures[engine].faults)).not.toContain(0);
    });
  }
});
