import { FabricError, type Health } from '@starloom/core';
import { deadlineSignal, type GuardedHttp } from '@starloom/wire';
import type { Target } from './target.ts';

/** Asks at `path`. Any answer shows a living agent, also 404, but not one of the 5xx. */
export async function checkHealth(
  http: GuardedHttp,
  target: Target,
  path: string,
  parent: AbortSignal,
): Promise<Health> {
  using deadline = deadlineSignal({ ms: target.healthTimeoutMs, parent });
  const started = performance.now();
  const checked_at = new Date().toISOString();
  try {
    const { origin, headers } = target;
    const answer = http.sendTo(origin, path, { headers }, deadline.signal);
    const { status } = await answer.head;
    answer.leave();
    const latency_ms = performance.now() - started;
    if (status < 500) return { status: 'online', checked_at, latency_ms };
    return { status: 'offline', checked_at, latency_ms, message: `It answered ${status}` };
  } catch (error) {
    const reason = FabricError.is(parent.reason) ? parent.reason : undefined;
    if (reason?.code === 'CANCELLED') throw reason;
    return { status: 'offline', checked_at, message: FabricError.from(error).message };
  }
}
