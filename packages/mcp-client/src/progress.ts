import type { JSONRPCNotification } from '@modelcontextprotocol/client';

export interface Progress {
  readonly message: string | undefined;
  /** Of 100, when the server gave a total. */
  readonly percent: number | undefined;
}

/** Of a `notifications/progress`. */
export function toProgress({ params = {} }: JSONRPCNotification): Progress {
  const { progress, total, message } = params;
  return {
    message: typeof message === 'string' ? message : undefined,
    percent: percentOf(progress, total),
  };
}

function percentOf(progress: unknown, total: unknown): number | undefined {
  if (typeof progress !== 'number' || typeof total !== 'number' || !(total > 0)) return undefined;
  const percent = (100 * progress) / total;
  return Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : undefined;
}
