import { describeWithEngine, runProgram } from '@starloom/testkit';
import { expect, it } from 'vitest';

const MAIN = new URL('../../prove/coordination/main.ts', import.meta.url).pathname;

describeWithEngine('redis', () => {
  it('finds no violation on either store while things break', async () => {
    const args = ['--conditions=@starloom/source', MAIN, '--seconds', '5', '--json'];
    const { code, stdout, stderr } = await runProgram({ command: process.execPath, args });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    const report = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    expect(report).toMatchObject({ name: 'prove:coordination', failed: 0, violations: 0 });
    for (const store of ['embedded', 'redis']) {
      expect(report.figures[store].operations).toBeGreaterThan(100);
      expect(Object.keys(report.figures[store].faults)).not.toEqual([]);
    }
    expect(report.faults).toBeGreaterThan(1);
  });
});
