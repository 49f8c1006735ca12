// A request that is sent again with the same key is answered as the first was and does nothing.
// While the first is under way the second is told so; one that failed leaves no trace.

import type { CoordinationStore, Json } from '@starloom/core';
import { z } from 'zod';
import { refuse } from '../errors.ts';
import { digestibleJson, jsonSchema } from '../json/json.ts';
import { digest, partitionOf } from '../partitions.ts';

const CLAIM_MS = 60_000;
const ANSWER_MS = 600_000;
const RETRY_AFTER_MS = 250;

const recordSchema = z.object({ request: z.string(), answer: jsonSchema.optional() });

export interface KeyedRequest {
  readonly principalId: string;
  readonly agentId: string;
  readonly method: string;
  readonly key: string;
  readonly params: Json;
}

export class Idempotency {
  readonly #store: CoordinationStore;

  constructor(store: CoordinationStore) {
    this.#store = store;
  }

  async once(keyed: KeyedRequest, work: () => Promise<Json>): Promise<Json> {
    const { principalId, agentId, method } = keyed;
    const partition = partitionOf.idempotency(principalId);
    const key = `${agentId}/${method}/${keyed.key}`;
    const request = digest(digestibleJson(keyed.params));
    const claim = { kind: 'put', key, value: { request }, ttlMs: CLAIM_MS } as const;
    const ifKeys = new Map([[key, 0]]);
    const claimed = await this.#store.commit(partition, { writes: [claim], ifKeys });
    if (!claimed.ok) {
      const first = 'current' in claimed ? claimed.current.entries.get(key)?.value : undefined;
      return earlier(first ?? null, request, keyed.key);
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

function earlier(first: Json, request: string, key: string): Json {
  const parsed = recordSchema.safeParse(first);
  if (parsed.success && parsed.data.request !== request) {
    throw refuse('idempotency_key_reused', 'The key was used for another request', {
      idempotency_key: key,
      fix: 'use a new key for a new request',
    });
  }
  if (parsed.success && parsed.data.answer !== undefined) return parsed.data.answer;
  throw refuse('in_progress', 'The first request with this key is still under way', {
    idempotency_key: key,
    retry_after_ms: RETRY_AFTER_MS,
    fix: 'ask again a little later',
  });
}
