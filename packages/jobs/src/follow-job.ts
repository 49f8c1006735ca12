import { isFinal, type JobEvent, type JobRecords } from '@starloom/core';
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
  const bell = new Bell(signal);
  const stop = records.watch(id, () => bell.ring());
  let cursor = after;
  try {
    for (;;) {
      bell.reset();
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
      await bell.waitForRing(isBehind ? CATCH_UP_MS : LOOK_AGAIN_MS);
    }
  } finally {
    stop();
    bell.close();
  }
}

/** Rings once for any number of hints since it was reset. */
class Bell {
  readonly #signal: AbortSignal;
  #rang = Promise.withResolvers<void>();
  readonly #onAbort = () => this.ring();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
  }

  ring(): void {
    this.#rang.resolve();
  }

  reset(): void {
    this.#rang = Promise.withResolvers();
    if (this.#signal.aborted) this.ring();
  }

  async waitForRing(ms: number): Promise<void> {
    const timer = setTimeout(() => this.ring(), ms);
    await this.#rang.promise;
    clearTimeout(timer);
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
  }
}
