import type { Clock } from '../clock.ts';

/**
 * The time that leases, keys and queues live by, in whole milliseconds. It never steps back and never
 * stands still: ahead of the wall clock, because that was set back or because `from` is later, it goes
 * on with the monotonic clock; behind it, it goes forward to it.
 */
export function engineTime(clock: Clock, from = 0): () => number {
  let known = { time: from, monotonic: clock.monotonic() };
  return () => {
    const monotonic = clock.monotonic();
    const time = known.time + Math.floor(monotonic - known.monotonic);
    const wall = clock.now();
    if (time >= wall) return time;
    known = { time: wall, monotonic };
    return wall;
  };
}
