// npm run prove:trust [-- <folder>] [--json]: replays every case of the folder, else of the project's
// own corpus: with a planner, with one that forgets, without, and with an approver. Exits with 1 when a figure is below its goal.

import { join } from 'node:path';
import { readOrigin } from '../../../bench/origin.ts';
import { readCases } from './case.ts';
import { decisionTimes } from './decision-time.ts';
import { replayEach } from './replay.ts';
import { toReport, toTable } from './report.ts';

const OWN_CASES = join(import.meta.dirname, 'cases');

const words = process.argv.slice(2);
const cases = await readCases(words.find((word) => !word.startsWith('--')) ?? OWN_CASES);
const report = toReport({
  unplanned: await replayEach(cases, { approver: false }),
  headless: await replayEach(cases, { approver: false, planner: 'scripted' }),
  forgetful: await replayEach(cases, { approver: false, planner: 'forgetting' }),
  approver: await replayEach(cases, { approver: true, planner: 'scripted' }),
  microseconds: await decisionTimes(cases),
});
if (words.includes('--json')) console.log(JSON.stringify({ ...report, ...readOrigin() }));
else console.log(toTable(report));
if (report.below_goal.length > 0) process.exitCode = 1;
