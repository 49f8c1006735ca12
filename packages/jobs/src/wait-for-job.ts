import { FabricError, type FabricEvent, isFinal, type StoredJob } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { JobDesk } from './job-desk.ts';

interface WaitOptions {
  readonly principalId: string;
  readonly signal: AbortSignal;
  readonly ms: number;
  /** The first event to look at has the number after this; default 0. */
  readonly after?: number | undefined;
  readonly onEvent?: ((event: FabricEvent, cursor: number) => Promise<void>) | undefined;
}

const PROMOTED = new FabricError('TIMEOUT', 'The call goes on as a job');

/** The job when it is over, when it waits for input, or when `ms` have passed. */
export async function waitForJob(
  desk: JobDesk,
  id: string,
  { principalId, signal: parent, ms, after = 0, onEvent }: WaitOptions,
): Promise<StoredJob> {
  using limit = deadlineSignal({ ms, reason: PROMOTED, parent });
  try {
    const events = desk.stream(principalId, id, { after, signal: limit.signal });
    for await (const { event, cursor } of events) {
      if (event.type !== 'error') await onEvent?.(event, cursor);
      const isAsking = event.type === 'status' && event.data.state === 'awaiting_input';
      if (isAsking && !isFinal((await desk.status(principalId, id)).state)) break;
    }
  } catch (error) {
    if (error !== PROMOTED) throw error;
  }
  return desk.status(principalId, id);
}
