import { fileURLToPath } from 'node:url';
import { describeWithEngine, runProgram } from '@starloom/testkit';
import { expect, it } from 'vitest';

const FAULTS = ['kill_gateway', 'cut_clients', 'hang_clients', 'slow_clients'];
const KINDS = {
  embedded: [...FAULTS, 'pause_holder', 'late_write'],
  redis: [
    ...FAULTS,
    'kill_redis',
    'cut_redis',
    'hang_redis',
    'slow_redis',
    'pause_holder',
    'late_write',
  ],
};
/** A hang guard, not a measure. */
const MAX_MS = 150_000;
const MAIN = fileURLToPath(new URL('../../prove/coordination/main.ts', import.meta.url));

describeWithEngine('redis', () => {
  it('finds no violation on either store while things break', async () => {
    const args = ['--conditions=@starloom/source', MAIN, '--seconds', '5', '--json'];
    const { code, stdout, stderr } = await runProgram({ command: process.execPath, args }, MAX_MS);
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    const report = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    expect(report).toMatchObject({ name: 'prove:coordination', failed: 0, violations: 0 });
    expect(report.missing).toEqual([]);
    for (const [store, kinds] of Object.entries(KINDS)) {
      const { operations, deliveries, faults } = report.figures[store];
      expect(operations).toBeGreaterThan(100);
      expect(deliveries).toBeGreaterThan(100);
      const happened = Object.keys(faults).filter((kind) => faults[kind] > 0);
      expect(happened.sort()).toEqual(kinds.sort());
    }
  });
});
