import type { Clock, Log, Trace } from '@starloom/core';
import type { RootLog } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { RecentCalls } from './recent-calls.ts';
import type { Tracing } from './tracing.ts';

/** Where observations go. */
export interface ObserverParts {
  readonly clock: Clock;
  readonly rootLog: RootLog;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly recentCalls: RecentCalls;
}

/** A logger whose every line names the span. */
export function spanLog({ rootLog }: ObserverParts, { trace_id, span_id }: Trace): Log {
  return rootLog.log.child({ trace_id, span_id });
}

/** Milliseconds since `startedAt` on the monotonic clock, to the microsecond. */
export function elapsedMs({ clock }: ObserverParts, startedAt: number): number {
  return Math.round((clock.monotonic() - startedAt) * 1000) / 1000;
}
