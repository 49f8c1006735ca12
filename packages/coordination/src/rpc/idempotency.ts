// A request that is sent again with the same key is answered as the first was and does nothing.
// While the first is under way the second is told so; one that failed leaves no trace.

import type { CoordinationStore, Json, Idempotency as Key } from '@starloom/core';
import { z } from 'zod';
import { keyReused, refuse } from '../errors.ts';
import { digestibleJson, type JsonObject, jsonSchema } from '../json/json.ts';
import { digest, partitionOf } from '../partitions.ts';

const CLAIM_MS = 60_000;
const ANSWER_MS = 600_000;
const RETRY_AFTER_MS = 250;

const recordSchema = z.object({ request: z.string(), answer: jsonSchema.optional() });

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

  constructor(store: CoordinationStore) {
    this.#store = store;
  }

  async once(keyed: KeyedRequest, work: () => Promise<Json>): Promise<Json> {
    const { principalId, key, request } = keyed;
    const partition = partitionOf.idempotency(principalId);
    const claim = { kind: 'put', key, value: { request }, ttlMs: CLAIM_MS } as const;
    const ifKeys = new Map([[key, 0]]);
    const claimed = await this.#store.commit(partition, { writes: [claim], ifKeys });
    if (!claimed.ok) {
      const first = 'current' in claimed ? claimed.current.entries.get(key)?.value : undefined;
      return earlier(first ?? null, request);
    }
    try {
      const answer = await work();
      const kept = { kind: 'put', key, value: { request, answer }, ttlMs: ANSWER_MS } as const;
      await this.#store.commit(partition, { writes: [kept] });
      return answer;
    } catch (error) {
      await this.#store.commit(partition, { writes: [{ kind: 'delete', key }] });
      throw error;
    }
  }
}

function earlier(first: Json, request: string): Json {
  const parsed = recordSchema.safeParse(first);
  if (parsed.success && parsed.data.request !== request) throw keyReused();
  if (parsed.success && parsed.data.answer !== undefined) return parsed.data.answer;
  throw refuse('in_progress', 'The first request with this key is still under way', {
    retry_after_ms: RETRY_AFTER_MS,
    fix: 'ask again a little later',
  });
}
