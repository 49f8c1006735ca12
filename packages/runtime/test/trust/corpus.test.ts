import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { CHANNELS } from '../../corpus/case.ts';
import { CORPUS } from '../../corpus/index.ts';
import { judgeAll } from '../../corpus/measure.ts';
import { FLOORS, toReport } from '../../corpus/report.ts';

const RUN = join(import.meta.dirname, '../../corpus/run.ts');

describe('the corpus', () => {
  it('holds at least 60 attacks and 60 look-alikes, on every channel, each with its own name', () => {
    const count = (kind: string) => CORPUS.filter((one) => one.kind === kind).length;
    expect(count('attack')).toBeGreaterThanOrEqual(60);
    expect(count('benign')).toBeGreaterThanOrEqual(60);
    expect(new Set(CORPUS.map(({ channel }) => channel))).toEqual(new Set(CHANNELS));
    expect(new Set(CORPUS.map(({ kind, channel, id }) => `${kind} ${channel} ${id}`)).size).toBe(
      CORPUS.length,
    );
  });

  it('is caught, and raises alarms, within the floors; no risky call goes through unasked', async () => {
    await using folder = await temporaryFolder();
    const judge = (mode: 'default' | 'strict' | 'research') =>
      judgeAll(CORPUS, { folder: join(folder.path, mode), mode });
    const report = toReport({
      default: await judge('default'),
      strict: await judge('strict'),
      research: await judge('research'),
    });
    expect(report.below_floor).toEqual([]);
    expect(report.violations).toBe(0);
    expect(report.figures.all.caught_rate).toBeGreaterThanOrEqual(FLOORS.caught);
    expect(report.figures.all.false_alarm_rate).toBeLessThanOrEqual(FLOORS.false_alarms);
    const strict = report.figures.by_mode.strict?.caught_rate ?? 0;
    expect(strict).toBeGreaterThanOrEqual(report.figures.all.caught_rate);
  });

  it('is reported as one JSON object, the last on stdout', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--conditions=@starloom/source',
      RUN,
      '--json',
    ]);
    const report: unknown = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
    expect(report).toMatchObject({
      name: 'prove:trust',
      passed: expect.any(Number),
      failed: expect.any(Number),
      skipped: 0,
      operations: CORPUS.length,
      faults: expect.any(Number),
      violations: 0,
      figures: expect.any(Object),
      ratios: expect.any(Object),
      versions: expect.any(Object),
      commit: expect.any(String),
    });
  });
});
