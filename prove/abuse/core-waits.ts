// How much of a delay is the machine's: the share of the time in which the gateway's thread wanted to run
// and other threads had the cores. It is reported beside the figures, and not part of the verdict.

import { mainThreadMicroseconds, mainThreadWaitMicroseconds } from '../../bench/process-usage.ts';

/** Shares, from 0 to 1; 0 where the system does not say. */
export interface CoreWaits {
  readonly quiet: number;
  readonly during: number;
}

export const NO_CORE_WAITS: CoreWaits = { quiet: 0, during: 0 };

/** Returns how to read the share since the last time. */
export function openCoreWaits(pid: number): () => number {
  const read = () => ({
    ran: mainThreadMicroseconds(pid) ?? 0,
    waited: mainThreadWaitMicroseconds(pid) ?? 0,
  });
  let last = read();
  return () => {
    const now = read();
    const waited = now.waited - last.waited;
    const wanted = waited + now.ran - last.ran;
    last = now;
    return wanted > 0 ? waited / wanted : 0;
  };
}
