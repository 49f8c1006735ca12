import { setTimeout as delay } from 'node:timers/promises';
import { FabricError, type Log } from '@starloom/core';

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;

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
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)) {
    try {
      return await step();
    } catch (error) {
      if (!FabricError.is(error) || error.code !== 'OVERLOADED') throw error;
      log.warn({ err: error, details: error.details }, 'job engine: write failed, trying again');
    }
    await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
