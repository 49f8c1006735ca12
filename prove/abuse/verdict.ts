// The rule by which an attack is judged. The ordinary client's success is at least 99.9 %. Its p99 is at
// most ten times the quiet one; a floor keeps the scheduler of a loaded machine out of it. The gateway's
// memory, at rest after the attack, is at most a fifth above what it was at rest before; a floor stands
// for code and tables that stay, once they were needed.

import type { Observed } from './ordinary-client.ts';

export const LEAST_SUCCESS = 0.999;
const MOST_SLOWER = 10;

const MOST_MEMORY = 1.2;

/** Up to these nothing is judged too slow or too large. */
export interface Floors {
  readonly ms: number;
  readonly mb: number;
}

export const FLOORS: Floors = { ms: 100, mb: 48 };

export interface Memory {
  readonly before: number;
  readonly peak: number;
  readonly after: number;
}

export interface Judged {
  readonly quiet: Observed;
  readonly during: Observed;
  readonly memory: Memory;
  readonly lostUpdates: number;
  readonly problems: readonly string[];
}

/** What did not hold, in words; empty when all did. */
export function judge(judged: Judged, floors: Floors): readonly string[] {
  const { quiet, during, memory, lostUpdates, problems } = judged;
  const found = [...problems];
  const share = successOf(during);
  if (!(share >= LEAST_SUCCESS)) {
    const [first = ''] = during.failures;
    found.push(`success was ${(share * 100).toFixed(2)} %: ${first}`);
  }
  for (const kind of ['calls', 'updates'] as const) {
    const most = Math.max(floors.ms, MOST_SLOWER * quiet[kind].p99);
    const { p99 } = during[kind];
    if (p99 > most) found.push(`p99 of ${kind} was ${p99.toFixed(0)} ms of ${most.toFixed(0)}`);
  }
  const mostMemory = Math.max(memory.before * MOST_MEMORY, memory.before + floors.mb);
  if (memory.after > mostMemory) {
    found.push(`memory stayed at ${memory.after.toFixed(0)} MB of ${mostMemory.toFixed(0)}`);
  }
  if (lostUpdates > 0) found.push(`${lostUpdates} accepted updates were lost`);
  return found;
}

export function successOf({ calls, updates }: Observed): number {
  return (calls.ok + updates.ok) / (calls.sent + updates.sent);
}
