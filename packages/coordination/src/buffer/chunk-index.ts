// What is known of the chunks of a session. Apart from the bodies, so that looking through it is
// cheap.

import type { Clock } from '@starloom/core';
import type { CoordinationStore, Write } from '../coordination-store.ts';
import { notFound } from '../errors.ts';
import { keyOf, partitionOf, ROSTER } from '../partitions.ts';
import {
  type Amount,
  amountOf,
  covers,
  difference,
  firstThatCover,
  type Measured,
} from '../quota/meter.ts';
import { memberSchema, parseRoster } from '../session/session-record.ts';
import { inBatches } from '../support/in-batches.ts';
import {
  type ChunkRecord,
  chunkRecordSchema,
  chunksIn,
  countKey,
  type IndexedChunk,
  infoKey,
  readsKey,
  referenceKey,
  usedKey,
} from './chunk-record.ts';

export class ChunkIndex {
  readonly #store: CoordinationStore;
  readonly #clock: Clock;

  constructor(store: CoordinationStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async get(sessionId: string, chunkId: string): Promise<ChunkRecord | undefined> {
    return (await this.#entry(sessionId, chunkId))?.info;
  }

  async all(sessionId: string): Promise<readonly IndexedChunk[]> {
    return chunksIn(await this.#store.read(partitionOf.chunks(sessionId)));
  }

  async add(sessionId: string, info: ChunkRecord): Promise<void> {
    const writes = [{ kind: 'put', key: infoKey(info.chunk_id), value: info }] as const;
    await this.#store.commit(partitionOf.chunks(sessionId), { writes });
  }

  async noteRead(sessionId: string, chunkId: string): Promise<void> {
    await this.#store.commit(partitionOf.chunks(sessionId), {
      writes: [
        { kind: 'put', key: usedKey(chunkId), value: this.#clock.now() },
        { kind: 'increment', key: readsKey(chunkId), by: 1 },
        { kind: 'increment', key: countKey('hits'), by: 1 },
      ],
    });
  }

  async count(sessionId: string, name: 'misses' | 'deduplicated'): Promise<void> {
    const writes = [{ kind: 'increment', key: countKey(name), by: 1 }] as const;
    await this.#store.commit(partitionOf.chunks(sessionId), { writes });
  }

  /** Changes a chunk that is there; eviction sees by its new version that it is in use. */
  async change(
    sessionId: string,
    chunkId: string,
    change: { readonly write?: Write; readonly info?: Partial<ChunkRecord> },
  ): Promise<void> {
    const key = infoKey(chunkId);
    for (;;) {
      const entry = await this.#entry(sessionId, chunkId);
      if (entry === undefined) throw notFound('chunk', chunkId);
      const value = { ...entry.info, ...change.info };
      const put = { kind: 'put', key, value } as const;
      const { ok } = await this.#store.commit(partitionOf.chunks(sessionId), {
        writes: change.write ? [put, change.write] : [put],
        ifKeys: new Map([[key, entry.version]]),
      });
      if (ok) return;
    }
  }

  async stats(sessionId: string) {
    const snapshot = await this.#store.read(partitionOf.chunks(sessionId));
    const chunks = chunksIn(snapshot);
    const count = (name: string) => Number(snapshot.entries.get(countKey(name))?.value ?? 0);
    const [hits, misses] = [count('hits'), count('misses')];
    return {
      chunks: chunks.length,
      bytes: amountOf(chunks).bytes,
      references: chunks.reduce((sum, { references }) => sum + references.length, 0),
      hits,
      misses,
      hit_rate: hits + misses === 0 ? 0 : hits / (hits + misses),
      deduplicated: count('deduplicated'),
      evicted: count('evicted'),
    };
  }

  async reset(sessionId: string): Promise<void> {
    const partition = partitionOf.chunks(sessionId);
    const { entries } = await this.#store.read(partition);
    const counts = [...entries.keys()].filter((key) => key.startsWith(countKey('')));
    const writes = counts.map((key): Write => ({ kind: 'delete', key }));
    await this.#store.commit(partition, { writes });
  }

  async #entry(sessionId: string, chunkId: string) {
    const key = infoKey(chunkId);
    const { entries } = await this.#store.read(partitionOf.chunks(sessionId), [key]);
    const entry = entries.get(key);
    return entry && { info: chunkRecordSchema.parse(entry.value), version: entry.version };
  }
}

/** Which chunks go, and how: one that an agent still needs stays, as long as that agent is there. */
export class ChunkEviction {
  readonly #store: CoordinationStore;

  constructor(store: CoordinationStore) {
    this.#store = store;
  }

  /** Counts the chunks; room is made by evicting as `makeRoom` does. */
  async measure(sessionId: string): Promise<Measured> {
    const chunks = chunksIn(await this.#store.read(partitionOf.chunks(sessionId)));
    const makeRoom = async (wanted: Amount) =>
      amountOf(await this.#evictSome(sessionId, chunks, wanted));
    return { now: amountOf(chunks), makeRoom };
  }

  /** Evicts unreferenced chunks, those not used for longest first, until this much is free. */
  async makeRoom(sessionId: string, wanted: Amount): Promise<readonly IndexedChunk[]> {
    const chunks = chunksIn(await this.#store.read(partitionOf.chunks(sessionId)));
    return await this.#evictSome(sessionId, chunks, wanted);
  }

  /** False when an agent took a reference meanwhile. */
  async evict(sessionId: string, chunk: IndexedChunk): Promise<boolean> {
    const { chunk_id, references, version, body_version } = chunk;
    const keys = [
      ...[infoKey, readsKey, usedKey].map((toKey) => toKey(chunk_id)),
      ...references.map((agentId) => referenceKey(chunk_id, agentId)),
    ];
    const deletes = keys.map((key): Write => ({ kind: 'delete', key }));
    const { ok } = await this.#store.commit(partitionOf.chunks(sessionId), {
      writes: [...deletes, { kind: 'increment', key: countKey('evicted'), by: 1 }],
      ifKeys: new Map([[infoKey(chunk_id), version]]),
    });
    if (!ok) return false;
    await this.#store.commit(partitionOf.chunkBodies(sessionId), {
      writes: [{ kind: 'delete', key: chunk_id }],
      ifKeys: new Map([[chunk_id, body_version]]),
    });
    return true;
  }

  /** Agents whose references count. */
  async presentAgents(sessionId: string): Promise<ReadonlySet<string>> {
    const partition = partitionOf.session(sessionId);
    const roster = (await this.#store.read(partition, [ROSTER])).entries.get(ROSTER)?.value;
    const keys = parseRoster(roster).map(keyOf.member);
    const { entries } = await this.#store.read(partition, keys);
    const members = [...entries.values()].map(({ value }) => memberSchema.parse(value));
    return new Set(members.filter(({ connected }) => connected).map(({ agent_id }) => agent_id));
  }

  async #evictSome(
    sessionId: string,
    chunks: readonly IndexedChunk[],
    wanted: Amount,
  ): Promise<readonly IndexedChunk[]> {
    const present = await this.presentAgents(sessionId);
    let candidates = chunks
      .filter(({ references }) => !references.some((agentId) => present.has(agentId)))
      .sort((a, b) => a.used_at - b.used_at);
    const evicted: IndexedChunk[] = [];
    while (candidates.length > 0 && !covers(amountOf(evicted), wanted)) {
      const next = firstThatCover(candidates, difference(wanted, amountOf(evicted)));
      candidates = candidates.slice(next.length);
      const gone = await inBatches(next, (chunk) => this.evict(sessionId, chunk));
      evicted.push(...next.filter((_, n) => gone[n]));
    }
    return evicted;
  }
}
