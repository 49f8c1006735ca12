// A request that is sent again with the same key is answered as the first was and does nothing.
// While the first is under way the second is told so. One that was refused leaves no trace; one that
// failed in another way, or whose gateway died, may have been done, so it is not done again.

import type { Clock, CoordinationStore, Json, Idempotency as Key } from '@starloom/core';
import { z } from 'zod';
import { isRefusal, keyReused, refuse } from '../errors.ts';
import { digestibleJson, type JsonObject, jsonSchema } from '../json/json.ts';
import { digest, partitionOf } from '../partitions.ts';

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

export class Idempotency {
  readonly #store: CoordinationStore;
  readonly #clock: Clock;

  constructor(store: CoordinationStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async once(keyed: KeyedRequest, work: () => Promise<Json>): Promise<Json> {
    const { principalId, key, request } = keyed;
    const partition = partitionOf.idempotency(principalId);
    const since = this.#clock.now();
    const keep = (value: Json) => ({ kind: 'put', key, value, ttlMs: KEPT_MS }) as const;
    const claimed = await this.#store.commit(partition, {
      writes: [keep({ request, since })],
      ifKeys: new Map([[key, 0]]),
    });
    if (!claimed.ok) {
      const first = 'current' in claimed ? claimed.current.entries.get(key)?.value : undefined;
      return earlier(first ?? null, request, since);
    }
    const answer = await work().catch(async (error: unknown) => {
      const write = isRefusal(error) ? forget(key) : keep({ request, since: LONG_AGO });
      await this.#store.commit(partition, { writes: [write] });
      throw error;
    });
    await this.#store.commit(partition, { writes: [keep({ request, since, answer })] });
    return answer;
  }
}

function forget(key: string) {
  return { kind: 'delete', key } as const;
}

function earlier(first: Json, request: string, now: number): Json {
  const parsed = recordSchema.safeParse(first);
  if (!parsed.success) throw underWay();
  const { answer, since } = parsed.data;
  if (parsed.data.request !== request) throw keyReused();
  if (answer !== undefined) return answer;
  throw since + UNDER_WAY_MS > now ? underWay() : unknownOutcome();
}

function underWay() {
  return refuse('in_progress', 'The first request with this key is still under way', {
    retry_after_ms: RETRY_AFTER_MS,
    fix: 'ask again a little later',
  });
}

function unknownOutcome() {
  return refuse('outcome_unknown', 'The first request with this key may have been done or not', {
    fix: 'look whether it was done; if not, send it with a new key',
  });
}
