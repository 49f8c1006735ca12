import { connectionFailure, FabricError, type Health } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { Dispatcher } from 'undici';
import type { Target } from './target.ts';

/** Asks at `path`. Any answer shows a living agent, also 404, but not one of the 5xx. */
export async function checkHealth(
  dispatcher: Dispatcher,
  target: Target,
  path: string,
  parent: AbortSignal,
): Promise<Health> {
  using deadline = deadlineSignal({ ms: target.healthTimeoutMs, parent });
  const { signal } = deadline;
  const started = performance.now();
  const checked_at = new Date().toISOString();
  try {
    const { origin, headers } = target;
    const request = { origin, method: 'GET', path, headers, signal } as const;
    const { statusCode, body } = await dispatcher.request(request);
    await body.dump({ limit: 16_384, signal }).catch(() => {});
    const latency_ms = performance.now() - started;
    if (statusCode < 500) return { status: 'online', checked_at, latency_ms };
    return { status: 'offline', checked_at, latency_ms, message: `It answered ${statusCode}` };
  } catch (error) {
    const reason = FabricError.is(parent.reason) ? parent.reason : undefined;
    if (reason?.code === 'CANCELLED') throw reason;
    return { status: 'offline', checked_at, message: messageOf(error) };
  }
}

function messageOf(error: unknown): string {
  if (FabricError.is(error)) return error.message;
  const cause = error instanceof Error ? error : new Error('unknown failure');
  return connectionFailure(cause, { sent: false, answered: false }).message;
}
