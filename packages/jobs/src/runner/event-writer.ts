// The events of one claim on their way to the engine: in order, one write at a time, and all that came
// meanwhile in the next. A write whose answer was lost is not repeated when it happened.

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

export class ClaimLost extends Error {}

export interface EventWriterOptions extends PersistOptions {
  readonly records: Pick<JobRecords, 'append' | 'get'>;
  readonly claim: Claim;
  readonly clock: Clock;
}

interface Waiting {
  readonly event: JobEvent;
  resolve(): void;
  reject(error: unknown): void;
}

export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #trace: Trace;
  readonly #waiting: Waiting[] = [];
  #seq: number;
  #writing: Promise<void> | undefined;
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

  /** `seq` of the last event. */
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
    const stored = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
    // A caller need not wait for each event: `flush` rejects as well.
    stored.catch(() => {});
    return stored;
  }

  /** Resolves when all events are stored. */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0 && this.#failure === undefined) {
      const batch = this.#waiting.splice(0);
      try {
        await this.#write(batch.map(({ event }) => event));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        this.#failure = error;
        for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(error);
      }
    }
    this.#writing = undefined;
  }

  async #write(events: readonly JobEvent[]): Promise<void> {
    const { records, claim } = this.#options;
    const last = events.at(-1)?.seq ?? 0;
    let isRepeated = false;
    const done = await persist(async () => {
      if (isRepeated && (await records.get(claim.job.id))?.seq === last) return true;
      isRepeated = true;
      return records.append(claim, events);
    }, this.#options);
    if (!done) throw new ClaimLost('another worker has the job');
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
