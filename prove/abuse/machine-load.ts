// How much of a delay is the machine's, reported beside the figures: how long the gateway's thread wanted
// to run while other threads had the cores, and how much of the cores programs took that are not of this run.

import { setTimeout as delay } from 'node:timers/promises';
import {
  busyMicroseconds,
  mainThreadMicroseconds,
  mainThreadWaitMicroseconds,
  treeMicroseconds,
} from '../../bench/process-usage.ts';

/** Shares, from 0 to 1; 0 where the system does not say. */
export interface MachineLoad {
  /** Of the time in which the gateway's thread wanted to run: other threads had the cores. */
  readonly noCore: number;
  /** Of all cores: taken by programs that are no part of the run. */
  readonly foreign: number;
}

/** Returns how to read the load since the last time. */
export function openMachineLoad(pid: number): () => MachineLoad {
  const read = () => ({
    ran: mainThreadMicroseconds(pid) ?? 0,
    waited: mainThreadWaitMicroseconds(pid) ?? 0,
    own: treeMicroseconds(process.pid) ?? 0,
    ...(busyMicroseconds() ?? { busy: 0, all: 0 }),
  });
  let last = read();
  return () => {
    const now = read();
    const waited = now.waited - last.waited;
    const foreign = now.busy - last.busy - (now.own - last.own);
    const load = {
      noCore: share(waited, waited + now.ran - last.ran),
      foreign: share(foreign, now.all - last.all),
    };
    last = now;
    return load;
  };
}

const LOOK_MS = 300;
const IDLE_SHARE = 0.1;

/** Until the gateway has done what an attack left it with: what is measured next is not of that attack. */
export async function comesToRest(
  pid: number,
  withinMs: number,
  signal: AbortSignal,
): Promise<void> {
  const end = performance.now() + withinMs;
  for (let last = mainThreadMicroseconds(pid) ?? 0; ; ) {
    await delay(LOOK_MS, undefined, { signal });
    const now = mainThreadMicroseconds(pid) ?? 0;
    if (now - last < IDLE_SHARE * LOOK_MS * 1_000) return;
    if (performance.now() > end) throw new Error('the gateway is still busy long after an attack');
    last = now;
  }
}

function share(part: number, whole: number): number {
  return whole > 0 ? Math.max(0, part / whole) : 0;
}
