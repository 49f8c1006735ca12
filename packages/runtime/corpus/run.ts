// Puts the whole corpus before the verifier and says what was caught, missed and a false alarm. Exits
// with 1 when a rate is below its floor, or a risky call went through unasked.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOrigin } from '../../../bench/origin.ts';
import { CORPUS } from './index.ts';
import { judgeAll } from './measure.ts';
import { toReport, toTable } from './report.ts';

const folder = await mkdtemp(join(tmpdir(), 'starloom-corpus-'));
try {
  const strict = await judgeAll(CORPUS, { folder: join(folder, 'strict'), mode: 'strict' });
  const research = await judgeAll(CORPUS, { folder: join(folder, 'research'), mode: 'research' });
  const report = toReport({
    default: await judgeAll(CORPUS, { folder: join(folder, 'default') }),
    strict,
    research,
  });
  if (process.argv.includes('--json')) {
    console.log(JSON.stringify({ ...report, ...readOrigin() }));
  } else {
    console.log(toTable(report));
  }
  if (report.violations > 0 || report.below_floor.length > 0) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
