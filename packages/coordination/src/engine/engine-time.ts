import type { Clock } from '@starloom/core';

/** How much faster than the monotonic clock it may go to catch up with the wall clock. */
const CATCH_UP_SHARE = 0.01;

/**
 * The time that leases, keys and queues live by, in whole milliseconds. It begins at the wall clock,
 * or at `from` if that is later, and goes on with the monotonic clock: no step of the wall clock, in
 * either direction, expires anything or leaves it ahead. Behind the wall clock, it goes at most one
 * percent faster until both agree.
 */
export function engineTime(clock: Clock, from = 0): () => number {
  const origin = { time: Math.max(from, clock.now()), monotonic: clock.monotonic() };
  let last = origin.monotonic;
  let gained = 0;
  return () => {
    const monotonic = clock.monotonic();
    const time = origin.time + (monotonic - origin.monotonic);
    const behind = clock.now() - Math.floor(time + gained);
    if (behind > 0) gained += Math.min(behind, (monotonic - last) * CATCH_UP_SHARE);
    last = monotonic;
    return Math.floor(time + gained);
  };
}
