// A caller that waits for a job as for a call: events as they happen, and what the call would answer.

import { FabricError, type FabricEvent, isFinal, type StoredJob } from '@starloom/core';
import type { JobDesk } from '@starloom/jobs';
import { deadlineSignal } from '@starloom/wire';
import type { Caller } from '../pipeline/call-request.ts';

const PROMOTED = new FabricError('TIMEOUT', 'The call goes on as a job');

/** The job when it is over, when it waits for input, or when `ms` have passed. */
export async function waitForJob(
  desk: JobDesk,
  { id }: StoredJob,
  caller: Caller,
  ms: number,
  after = 0,
): Promise<StoredJob> {
  const { principal, send, signal: parent } = caller;
  using limit = deadlineSignal({ ms, reason: PROMOTED, parent });
  try {
    const events = desk.stream(principal.id, id, { after, signal: limit.signal });
    for await (const { event, cursor } of events) {
      if (event.type !== 'error') await send?.(event as FabricEvent, { cursor });
      const isAsking = event.type === 'status' && event.data.state === 'awaiting_input';
      if (isAsking && !isFinal((await desk.status(principal.id, id)).state)) break;
    }
  } catch (error) {
    if (error !== PROMOTED) throw error;
  }
  return desk.status(principal.id, id);
}
