// The rule by which an attack is judged. The ordinary client's success is at least 99.9 %. Its p99 is at
// most five times that of calls while it is quiet, or that of the same agent called without a gateway during
// the attack, when that is slower: the attackers share the cores. Updates wait for the disk, too: for the
// write that goes on, and for their own. Newcomers wait behind all connections that were opened before: the
// system keeps them in one line, whose length is bounded. The resident memory of the gateway, at rest after
// the attack, is at most a fifth above what it was at rest before; a floor stands for code and tables that
// stay, once they were needed. What objects and buffers take is reported beside it: the difference is what
// the allocator keeps of what was freed.

import type { Settled } from './gateway-probe.ts';
import type { Observed } from './ordinary-client.ts';

export const LEAST_SUCCESS = 0.999;
const MAX_SLOWER = 5;
/** As long as TCP itself waits before it tries again. */
const MAX_NEWCOMER_MS = 1_000;
/** An update waits for so many writes. */
const WRITES = 2;

const MAX_MEMORY = 1.2;

/** Up to these nothing is judged too slow or too large. */
export interface Floors {
  readonly ms: number;
  readonly mb: number;
}

export const FLOORS: Floors = { ms: 100, mb: 48 };

export interface Memory {
  readonly before: Settled;
  /** Resident. */
  readonly peak: number;
  readonly after: Settled;
}

export interface Judged {
  readonly quiet: Observed;
  /** When the gateway met the attack for the first time, and later. */
  readonly first: Observed;
  readonly during: Observed;
  readonly memory: Memory;
  readonly lostUpdates: number;
  readonly problems: readonly string[];
}

/** What did not hold, in words; empty when all did. */
export function judge(judged: Judged, floors: Floors): readonly string[] {
  const { quiet, first, during, memory, lostUpdates, problems } = judged;
  const atFirst = judgeClient(quiet, first, floors).map((problem) => `at first ${problem}`);
  const found = [...problems, ...atFirst, ...judgeClient(quiet, during, floors)];
  const { resident } = memory.before;
  const most = Math.max(resident * MAX_MEMORY, resident + floors.mb);
  if (memory.after.resident > most) {
    const { resident: stayed, live } = memory.after;
    const figures = `${stayed.toFixed(0)} MB of ${most.toFixed(0)}`;
    found.push(`memory stayed at ${figures}; objects and buffers take ${live.toFixed(0)} MB`);
  }
  if (lostUpdates > 0) found.push(`${lostUpdates} accepted updates were lost`);
  return found;
}

/** What the ordinary client noticed of the attack. */
function judgeClient(quiet: Observed, during: Observed, floors: Floors): readonly string[] {
  const found: string[] = [];
  const share = successOf(during);
  if (!(share >= LEAST_SUCCESS)) {
    const [failure = ''] = during.failures;
    found.push(`success was ${(share * 100).toFixed(2)} %: ${failure}`);
  }
  const patience = Math.max(MAX_NEWCOMER_MS, floors.ms);
  if (during.newcomers.p99 > patience) {
    const waited = `${during.newcomers.p99.toFixed(0)} ms of ${patience}`;
    found.push(`p99 of calls on new connections was ${waited}`);
  }
  const yardstick = Math.max(quiet.calls.p99, during.direct.p99);
  const quick = Math.max(floors.ms, MAX_SLOWER * yardstick);
  for (const kind of ['calls', 'updates'] as const) {
    const most = kind === 'calls' ? quick : quick + WRITES * during.disk.p99;
    const { p99 } = during[kind];
    if (p99 > most) found.push(`p99 of ${kind} was ${p99.toFixed(0)} ms of ${most.toFixed(0)}`);
  }
  return found;
}

export function successOf(observed: Observed): number {
  const sent = sentOf(observed);
  const { calls, updates, newcomers } = observed;
  return sent === 0 ? 0 : (calls.ok + updates.ok + newcomers.ok) / sent;
}

export function sentOf({ calls, updates, newcomers }: Observed): number {
  return calls.sent + updates.sent + newcomers.sent;
}
