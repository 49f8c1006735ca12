import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs, FabricError, type Log } from '@starloom/core';

const WAITS = { firstMs: 50, longestMs: 2_000 };

export interface PersistOptions {
  readonly log: Log;
  /** Gives up when it aborts, with its reason. */
  readonly signal: AbortSignal;
}

/** Repeats a step while the engine cannot write: what a worker has done must not be lost to that. */
export async function persist<Result>(
  step: () => Promise<Result>,
  { log, signal }: PersistOptions,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await step();
    } catch (error) {
      if (!FabricError.is(error) || error.code !== 'OVERLOADED') throw error;
      log.warn({ err: error, details: error.details }, 'job engine: write failed, trying again');
    }
    const waitMs = backoffMs({ ...WAITS, tries });
    await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
