import { setTimeout as delay } from 'node:timers/promises';
import { cpuMicroseconds } from '../process-usage.ts';
import { Caller } from './caller.ts';
import type { Slice, SliceResult } from './slice.ts';
import { Tally } from './tally.ts';

/**
 * Lasts longer than it should if nobody answered yet. CPU time is read here, so that it is that of
 * the very time in which answers are counted.
 */
export async function runSlice(slice: Slice): Promise<SliceResult> {
  const { connections, rampMs, measureMs, pid } = slice;
  const tally = new Tally();
  const callers = Array.from({ length: connections }, (_, at) => new Caller(slice, tally, at + 1));
  const ended = Promise.all(callers.map((caller) => caller.run()));
  await delay(rampMs);
  const before = look(pid);
  tally.open();
  await delay(measureMs);
  if (!tally.isOver) await tally.first;
  const after = look(pid);
  tally.close();
  await ended;
  const { latenciesMs, firstEventsMs, failed, failure } = tally;
  const seconds = (after.at - before.at) / 1000;
  const cpu = after.cpu === undefined ? undefined : after.cpu - (before.cpu ?? 0);
  return { seconds, latenciesMs, firstEventsMs, cpuMicroseconds: cpu, failed, failure };
}

function look(pid: number | undefined) {
  const cpu = pid === undefined ? undefined : cpuMicroseconds(pid);
  return { at: performance.now(), cpu };
}
