import { isFinal, type JobEvent, type JobRecords, orAborted } from '@starloom/core';
import { jobNotFound } from './job-document.ts';

export interface FollowedEvent {
  readonly cursor: number;
  readonly event: JobEvent;
}

const PAGE = 256;
/** A hint that was lost costs at most this. */
const LOOK_AGAIN_MS = 5_000;
/** Events came between two reads: they are there, so it need not wait for a hint. */
const CATCH_UP_MS = 1;

/**
 * The events of a job after a cursor, without a gap: first those that are stored, then each as it
 * happens, whichever process runs the job. Ends after the last event of a job that is over; throws the
 * reason of the signal when it aborts.
 */
export async function* followJob(
  records: Pick<JobRecords, 'events' | 'get' | 'watch'>,
  id: string,
  { after, signal }: { readonly after: number; readonly signal: AbortSignal },
): AsyncGenerator<FollowedEvent, void> {
  let hint = Promise.withResolvers<void>();
  const stop = records.watch(id, () => hint.resolve());
  let cursor = after;
  try {
    for (;;) {
      hint = Promise.withResolvers();
      signal.throwIfAborted();
      const page = await records.events(id, { after: cursor, limit: PAGE });
      for (const event of page.events) {
        cursor += 1;
        yield { cursor, event };
      }
      if (page.events.length === PAGE) continue;
      const job = await records.get(id);
      if (job === undefined) throw jobNotFound(id);
      const isBehind = job.cursor > cursor;
      if (isFinal(job.state) && !isBehind) return;
      const timer = setTimeout(hint.resolve, isBehind ? CATCH_UP_MS : LOOK_AGAIN_MS);
      try {
        await orAborted(hint.promise, signal);
      } finally {
        clearTimeout(timer);
      }
    }
  } finally {
    stop();
  }
}
