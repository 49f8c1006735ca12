import { type Clock, FabricError, orAborted } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';

/** Something that keeps state for the gateway. */
export interface Engine {
  readonly kind: string;
  /** Does a small piece of real work; rejects when the engine cannot. */
  check(): Promise<void>;
}

export type EngineHealth =
  | { readonly kind: string; readonly status: 'ok'; readonly latency_ms: number }
  | {
      readonly kind: string;
      readonly status: 'offline';
      readonly code: string;
      readonly reason: string;
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
    await orAborted(check(), deadline.signal);
    return { kind, status: 'ok', latency_ms: Math.round(clock.monotonic() - began) };
  } catch (thrown) {
    const { code, details } = FabricError.from(thrown);
    return { kind, status: 'offline', code, reason: String(details.reason ?? 'no_answer') };
  }
}
