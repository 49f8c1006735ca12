import type { JSONRPCNotification } from '@modelcontextprotocol/client';
import type { Counted } from '@starloom/core';

export interface Progress {
  readonly message: string | undefined;
  /** Of 100, when the server gave a total. */
  readonly percent: number | undefined;
  /** As the server counts; absent when that is no number. */
  readonly counted: Counted | undefined;
}

/** Larger values do not leave room for another one above them. */
const MAX_PROGRESS = Number.MAX_SAFE_INTEGER;

/** Of a `notifications/progress`. */
export function toProgress({ params = {} }: JSONRPCNotification): Progress {
  const { progress, total, message } = params;
  return {
    message: typeof message === 'string' ? message : undefined,
    percent: percentOf(progress, total),
    counted: countedOf(progress, total),
  };
}

function countedOf(progress: unknown, total: unknown): Counted | undefined {
  if (typeof progress !== 'number' || !(Math.abs(progress) <= MAX_PROGRESS)) return undefined;
  return typeof total === 'number' && Number.isFinite(total) ? { progress, total } : { progress };
}

function percentOf(progress: unknown, total: unknown): number | undefined {
  if (typeof progress !== 'number' || typeof total !== 'number' || !(total > 0)) return undefined;
  const percent = (100 * progress) / total;
  return Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : undefined;
}
