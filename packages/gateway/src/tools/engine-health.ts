import type { StoreWarning } from '@starloom/coordination';
import { type Clock, FabricError, orAborted } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';

/** Something that keeps state for the gateway. */
export interface Engine {
  readonly kind: string;
  /** Does a small piece of real work; rejects when the engine cannot. */
  check(): Promise<readonly StoreWarning[]>;
}

export type EngineHealth =
  | { readonly kind: string; readonly status: 'ok'; readonly latency_ms: number }
  | {
      readonly kind: string;
      readonly status: 'degraded';
      readonly latency_ms: number;
      readonly reason: string;
      readonly warnings: readonly StoreWarning[];
    }
  | {
      readonly kind: string;
      readonly status: 'offline';
      readonly code: string;
      readonly reason: string;
      readonly fix?: string;
    };

const CHECK_MS = 2_000;

export async function engineHealth(
  { kind, check }: Engine,
  clock: Clock,
  checkMs = CHECK_MS,
): Promise<EngineHealth> {
  using deadline = deadlineSignal({ ms: checkMs });
  const began = clock.monotonic();
  try {
    const warnings = await orAborted(check(), deadline.signal);
    const latency_ms = Math.round(clock.monotonic() - began);
    if (warnings.length === 0) return { kind, status: 'ok', latency_ms };
    const reason = warnings.map(({ problem }) => problem).join('; ');
    return { kind, status: 'degraded', latency_ms, reason, warnings };
  } catch (thrown) {
    const { code, details } = FabricError.from(thrown);
    const reason = String(details.reason ?? 'no_answer');
    const fix = typeof details.fix === 'string' ? { fix: details.fix } : {};
    return { kind, status: 'offline', code, reason, ...fix };
  }
}
