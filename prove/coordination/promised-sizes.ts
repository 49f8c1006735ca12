// What the plane says it keeps for those who lag: written down here once more, so that the bar is
// not taken from what is judged. The values of the workload are so small that the bound in bytes
// (32 MiB) is never reached before that in events.

/** Whoever is not further behind than this is told every event. */
export const BACKLOG_EVENTS = 1_000;
/** A log that was never longer than this is whole. */
export const KEPT_EVENTS = 10_000;
