import { hash } from 'node:crypto';
import type { Clock, Log, Trace } from '@starloom/core';
import type { RefusalLines } from './active-request.ts';
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
  readonly hashes: PrincipalHashes;
  readonly refusals: RefusalLines;
}

const MAX_HASHES = 1000;

/** Telemetry distinguishes principals without naming them. */
export class PrincipalHashes {
  readonly #known = new Map<string, string>();

  of(principal: string | null): string | null {
    if (principal === null) return null;
    const known = this.#known.get(principal);
    if (known !== undefined) return known;
    const short = hash('sha256', principal, 'hex').slice(0, 12);
    if (this.#known.size >= MAX_HASHES) this.#known.clear();
    this.#known.set(principal, short);
    return short;
  }
}

/** A logger whose every line names the span. */
export function spanLog({ rootLog }: ObserverParts, { trace_id, span_id }: Trace): Log {
  return rootLog.log.child({ trace_id, span_id });
}

/** Milliseconds since `startedAt` on the monotonic clock, to the microsecond. */
export function elapsedMs({ clock }: ObserverParts, startedAt: number): number {
  return Math.round((clock.monotonic() - startedAt) * 1000) / 1000;
}
