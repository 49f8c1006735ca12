// A request that is sent again with the same key is answered as the first was and does nothing.
// While the first is under way the answer to the second says so. One that was refused leaves no
// trace; one that failed in another way, or whose gateway died, may have been done, so it is not
// done again. What is kept for that is bounded: when there is no room, a new key is refused, since
// to forget one would be to do its request twice.

import type { Json, JsonObject } from '@starloom/core';
import { z } from 'zod';
import type { Idempotency as Key } from '../coordination-store.ts';
import { digestibleJson, jsonBytes, jsonSchema } from '../json/json.ts';
import { digest, partitionOf } from '../partitions.ts';
import { Meter } from '../quota/meter.ts';
import { failure, isRefusal } from '../reasons.ts';
import type { Services } from '../services.ts';

const UNDER_WAY_MS = 60_000;
const KEPT_MS = 600_000;
const LONG_AGO = 0;
const RETRY_AFTER_MS = 250;

const recordSchema = z.object({
  request: z.string(),
  since: z.number(),
  answer: jsonSchema.optional(),
});

export interface KeyedRequest extends Key {
  readonly principalId: string;
}

/** What a request asks for, by which it is known when it comes again; whatever trace it is in. */
export function requestOf(params: JsonObject): string {
  const { idempotency_key: _, trace_id: __, ...asked } = params;
  return digest(digestibleJson(asked));
}

type IdempotencyOptions = Pick<Services, 'store' | 'clock' | 'limits' | 'budgets'>;

export class IdempotentAnswers {
  readonly #options: IdempotencyOptions;
  readonly #meter: Meter;

  constructor(options: IdempotencyOptions) {
    const { limits, clock } = options;
    this.#options = options;
    const fix = 'wait, since answers are kept for ten minutes, or send it without a key';
    this.#meter = new Meter({ limits, clock, bytes: 'idempotency_bytes', fix });
  }

  async once(keyed: KeyedRequest, work: () => Promise<Json>): Promise<Json> {
    const { store, clock } = this.#options;
    const { principalId, key, request } = keyed;
    const partition = partitionOf.idempotency(principalId);
    const since = clock.now();
    try {
      await this.#reserve(principalId, key.length + request.length);
    } catch (error) {
      const first = (await store.read(partition, [key])).entries.get(key)?.value;
      if (first === undefined) throw error;
      return earlierAnswer(first, request, since);
    }
    const claimed = await store.commit(partition, {
      writes: [keep(key, { request, since })],
      ifKeys: new Map([[key, 0]]),
    });
    if (!claimed.ok) {
      const first = 'current' in claimed ? claimed.current.entries.get(key)?.value : undefined;
      return earlierAnswer(first ?? null, request, since);
    }
    const finish = async (record: JsonObject) => {
      await store.commit(partition, { writes: [keep(key, record)] });
      const bytes = key.length + jsonBytes(record);
      this.#meter.note(principalId, { entries: 0, bytes });
      this.#options.budgets.note(principalId, bytes);
    };
    const answer = await work().catch(async (error: unknown) => {
      if (isRefusal(error)) await store.commit(partition, { writes: [forget(key)] });
      else await finish({ request, since: LONG_AGO });
      throw error;
    });
    await finish({ request, since, answer });
    return answer;
  }

  #reserve(name: string, bytes: number): Promise<void> | undefined {
    const { store } = this.#options;
    const measure = async () => {
      const kept = await store.size([partitionOf.idempotency(name)]);
      return { now: { entries: 0, bytes: kept } };
    };
    return this.#meter.reserve({ name, more: { entries: 0, bytes }, measure });
  }
}

function keep(key: string, value: Json) {
  return { kind: 'put', key, value, ttlMs: KEPT_MS } as const;
}

function forget(key: string) {
  return { kind: 'delete', key } as const;
}

function earlierAnswer(first: Json, request: string, now: number): Json {
  const parsed = recordSchema.safeParse(first);
  if (!parsed.success) throw underWayFailure();
  const { answer, since } = parsed.data;
  if (parsed.data.request !== request) throw failure('idempotency_key_reused');
  if (answer !== undefined) return answer;
  throw since + UNDER_WAY_MS > now ? underWayFailure() : failure('outcome_unknown');
}

function underWayFailure() {
  return failure('in_progress', { retry_after_ms: RETRY_AFTER_MS });
}
