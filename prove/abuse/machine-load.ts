// How much of a delay is the machine's, reported beside the figures: how long the gateway's thread wanted
// to run while other threads had the cores, how much of the cores programs took that are not of this run, and
// when the host of a virtual machine gave its cores to others.

import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import {
  busyMicroseconds,
  mainThreadMicroseconds,
  mainThreadWaitMicroseconds,
  treeMicroseconds,
} from '../../bench/process-usage.ts';

const LEAST_PRIORITY = 19;

/**
 * This program stands for one on another machine: from now on it runs when no other wants a core. Where Linux
 * groups processes by session, priority counts within the group alone, and the group has one of its own.
 */
export function giveWay(): void {
  setPriority(LEAST_PRIORITY);
  try {
    writeFileSync('/proc/self/autogroup', String(LEAST_PRIORITY));
  } catch {
    // No such groups here.
  }
}

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
    ...(busyMicroseconds() ?? { busy: 0, all: 0, stolen: 0 }),
  });
  let last = read();
  return () => {
    const now = read();
    const waited = now.waited - last.waited;
    const busy = now.busy - last.busy - (now.stolen - last.stolen);
    const foreign = busy - (now.own - last.own);
    const load = {
      noCore: share(waited, waited + now.ran - last.ran),
      foreign: share(foreign, now.all - last.all),
    };
    last = now;
    return load;
  };
}

const STEAL_LOOK_MS = 20;

/** Notes when the host took cores away, until it is disposed. */
export class StolenTime implements Disposable {
  readonly #moments: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let last = busyMicroseconds()?.stolen ?? 0;
    this.#timer = setInterval(() => {
      const stolen = busyMicroseconds()?.stolen ?? 0;
      if (stolen > last) this.#moments.push(performance.now());
      last = stolen;
    }, STEAL_LOOK_MS);
  }

  /** Whether that was so in this time; the kernel notes it a little later. */
  hitsBetween(from: number, to: number): boolean {
    return this.#moments.some((at) => at >= from && at <= to + 2 * STEAL_LOOK_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
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
