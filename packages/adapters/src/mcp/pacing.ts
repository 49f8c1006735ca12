import { setTimeout as delay } from 'node:timers/promises';
import { FabricError } from '@starloom/core';

/** Between two requests of an agent that wants to be asked again, without any question. */
const PACING_MS = 1_000;

export async function paced(signal: AbortSignal): Promise<void> {
  try {
    await delay(PACING_MS, undefined, { signal });
  } catch {
    throw FabricError.from(signal.reason);
  }
}
