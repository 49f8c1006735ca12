// The events of one claim on their way to the engine, in order and in batches. A write whose answer was
// lost is not repeated when it happened.

import { setTimeout as delay } from 'node:timers/promises';
import {
  backoffMs,
  type Claim,
  type Clock,
  type EventBody,
  FabricError,
  type JobEvent,
  type JobRecords,
  type Log,
  type Trace,
} from '@starloom/core';
import { GroupBatches } from '@starloom/wire';

export class ClaimLost extends Error {}

export interface EventWriterOptions extends PersistOptions {
  readonly records: Pick<JobRecords, 'append' | 'get'>;
  readonly claim: Claim;
  readonly clock: Clock;
}

/** Of one write. */
const MAX_EVENTS = 1_000;

export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #trace: Trace;
  readonly #batches = new GroupBatches<JobEvent, undefined>(MAX_EVENTS, (events) =>
    this.#write(events),
  );
  #seq: number;
  #failure: unknown;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#seq = options.claim.job.seq;
    this.#trace = options.claim.job.trace;
  }

  /** The event that would come next. It is for the caller to store, as the last of the claim. */
  stamp(body: EventBody, agentId: string): JobEvent {
    const at = new Date(this.#options.clock.now()).toISOString();
    return {
      ...body,
      seq: this.#seq + 1,
      at,
      trace: this.#trace,
      agent_id: agentId,
    } as JobEvent;
  }

  get seq(): number {
    return this.#seq;
  }

  /** The next event begins a new leg of the stream. */
  startLeg(): void {
    this.#seq = 0;
  }

  /** Resolves when the event is stored; rejects with `ClaimLost` when that is not possible any more. */
  emit(body: EventBody, agentId: string): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const event = this.stamp(body, agentId);
    this.#seq += 1;
    const stored = this.#batches.add(event);
    // A caller need not wait for each event: `flush` rejects as well.
    stored.catch(() => {});
    return stored;
  }

  async flush(): Promise<void> {
    await this.#batches.idle();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** After a failure it writes nothing more. */
  async #write(events: readonly JobEvent[]): Promise<readonly undefined[]> {
    if (this.#failure !== undefined) throw this.#failure;
    const { records, claim } = this.#options;
    const last = events.at(-1)?.seq ?? 0;
    let isRepeated = false;
    try {
      const done = await persist(async () => {
        if (isRepeated && (await records.get(claim.job.id))?.seq === last) return true;
        isRepeated = true;
        return records.append(claim, events);
      }, this.#options);
      if (!done) throw new ClaimLost('another worker has the job');
    } catch (error) {
      this.#failure = error;
      throw error;
    }
    return [];
  }
}

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
