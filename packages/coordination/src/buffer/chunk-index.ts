// What is known of the chunks of a session, apart from the bodies, so that reading all of it is
// cheap; and which chunks are evicted: one that an agent needs stays while that agent is there.

import { createHash } from 'node:crypto';
import type { Clock, Json } from '@starloom/core';
import { z } from 'zod';
import type { CoordinationStore, Snapshot, Write } from '../coordination-store.ts';
import { jsonObjectSchema } from '../json/json.ts';
import { partitionOf } from '../partitions.ts';
import {
  type Amount,
  amountOf,
  covers,
  difference,
  firstThatCover,
  type Measured,
} from '../quota/meter.ts';
import { failure } from '../reasons.ts';
import { readMembers } from '../session/session-record.ts';
import { changeEntries } from '../support/change-entries.ts';
import { countsIn, countWrite, resetCounts } from '../support/counts.ts';
import { inBatches } from '../support/in-batches.ts';

export const CHUNK_ENCODINGS = ['utf8', 'base64'] as const;
export type ChunkEncoding = (typeof CHUNK_ENCODINGS)[number];

export const chunkIdSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'expected a chunk id');

export const chunkInfoSchema = z.object({
  chunk_id: z.string(),
  bytes: z.number(),
  media_type: z.string(),
  /** How it is given back: as text once any agent put it as text. */
  encoding: z.enum(CHUNK_ENCODINGS),
  metadata: jsonObjectSchema,
  agent_id: z.string(),
  at: z.number(),
});

const chunkRecordSchema = chunkInfoSchema.extend({
  /** Of the entry that holds the body: a put of the same content writes the entry again. */
  body_version: z.number(),
});
export type ChunkRecord = z.infer<typeof chunkRecordSchema>;

/** The bytes of a chunk as they are kept; it may be given back in the other encoding. */
const chunkBodySchema = z.object({ encoding: z.enum(CHUNK_ENCODINGS), content: z.string() });
export type ChunkBody = z.infer<typeof chunkBodySchema>;

export interface IndexedChunk extends ChunkRecord {
  /** Of its entry: an agent that takes a reference changes it. */
  readonly version: number;
  readonly reads: number;
  readonly used_at: number;
  readonly references: readonly string[];
}

export class ChunkIndex {
  readonly #store: CoordinationStore;
  readonly #clock: Clock;

  constructor(store: CoordinationStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async get(sessionId: string, chunkId: string): Promise<ChunkRecord | undefined> {
    const key = infoKey(chunkId);
    return infoIn(await this.#store.read(partitionOf.chunks(sessionId), [key]), chunkId);
  }

  async all(sessionId: string): Promise<readonly IndexedChunk[]> {
    return chunksIn(await this.#store.read(partitionOf.chunks(sessionId)));
  }

  async add(sessionId: string, info: ChunkRecord): Promise<void> {
    await this.#commit(sessionId, [{ kind: 'put', key: infoKey(info.chunk_id), value: info }]);
  }

  async noteRead(sessionId: string, chunkId: string): Promise<void> {
    await this.#commit(sessionId, [
      { kind: 'put', key: usedKey(chunkId), value: this.#clock.now() },
      { kind: 'increment', key: readsKey(chunkId), by: 1 },
      countWrite('hits'),
    ]);
  }

  async count(sessionId: string, name: 'misses' | 'deduplicated'): Promise<void> {
    await this.#commit(sessionId, [countWrite(name)]);
  }

  /** The chunk is not evicted while the agent is there. */
  async retain(sessionId: string, chunkId: string, agentId: string): Promise<void> {
    const reference = { kind: 'put', key: referenceKey(chunkId, agentId), value: true } as const;
    await this.#change(sessionId, chunkId, {}, [reference]);
  }

  /** An agent that put the bytes as text gets text back. */
  async setEncoding(sessionId: string, chunkId: string, encoding: ChunkEncoding): Promise<void> {
    await this.#change(sessionId, chunkId, { encoding }, []);
  }

  async stats(sessionId: string) {
    const snapshot = await this.#store.read(partitionOf.chunks(sessionId));
    const chunks = chunksIn(snapshot);
    return {
      chunks: chunks.length,
      bytes: amountOf(chunks).bytes,
      references: chunks.reduce((sum, { references }) => sum + references.length, 0),
      ...countsIn(snapshot, ['deduplicated', 'evicted']),
    };
  }

  async reset(sessionId: string): Promise<void> {
    await resetCounts(this.#store, partitionOf.chunks(sessionId));
  }

  /** Counts the chunks; room is made by evicting as `makeRoom` does. */
  async measure(sessionId: string): Promise<Measured> {
    const chunks = await this.all(sessionId);
    const makeRoom = async (wanted: Amount) =>
      amountOf(await this.#evictSome(sessionId, chunks, wanted));
    return { now: amountOf(chunks), makeRoom };
  }

  /** Evicts unreferenced chunks, those not used for longest first, until this much is free. */
  async makeRoom(sessionId: string, wanted: Amount): Promise<readonly IndexedChunk[]> {
    return await this.#evictSome(sessionId, await this.all(sessionId), wanted);
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
      writes: [...deletes, countWrite('evicted')],
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
    const members = await readMembers(this.#store, partitionOf.session(sessionId));
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

  /** Changes a chunk that is there; eviction sees by its new version that it is in use. */
  async #change(
    sessionId: string,
    chunkId: string,
    change: Partial<ChunkRecord>,
    writes: readonly Write[],
  ): Promise<void> {
    const key = infoKey(chunkId);
    await changeEntries(this.#store, partitionOf.chunks(sessionId), [key], (current) => {
      const info = infoIn(current, chunkId);
      if (info === undefined) throw failure('not_found/chunk', { chunk_id: chunkId });
      return { writes: [{ kind: 'put', key, value: { ...info, ...change } }, ...writes] };
    });
  }

  async #commit(sessionId: string, writes: readonly Write[]): Promise<void> {
    await this.#store.commit(partitionOf.chunks(sessionId), { writes });
  }
}

/** As it is kept; before it named its encoding, only the hash can tell. */
export function toChunkBody(value: Json, chunkId: string): ChunkBody {
  if (typeof value !== 'string') return chunkBodySchema.parse(value);
  const isText = chunkIdOf({ encoding: 'utf8', content: value }) === chunkId;
  return { encoding: isText ? 'utf8' : 'base64', content: value };
}

export function chunkIdOf({ content, encoding }: ChunkBody): string {
  return `sha256:${createHash('sha256').update(content, encoding).digest('hex')}`;
}

export const infoKey = (chunkId: string) => `info/${chunkId}`;
const readsKey = (chunkId: string) => `reads/${chunkId}`;
const usedKey = (chunkId: string) => `used/${chunkId}`;
const referenceKey = (chunkId: string, agentId: string) => `ref/${chunkId}/${agentId}`;

function infoIn({ entries }: Snapshot, chunkId: string): ChunkRecord | undefined {
  const entry = entries.get(infoKey(chunkId));
  return entry && chunkRecordSchema.parse(entry.value);
}

const INFO_PREFIX = infoKey('');
const REFERENCE = /^ref\/(sha256:[0-9a-f]{64})\/(.+)$/;

function chunksIn({ entries }: Snapshot): readonly IndexedChunk[] {
  const references = new Map<string, string[]>();
  for (const key of entries.keys()) {
    const [, chunkId, agentId] = REFERENCE.exec(key) ?? [];
    if (chunkId === undefined || agentId === undefined) continue;
    references.set(chunkId, [...(references.get(chunkId) ?? []), agentId]);
  }
  return [...entries].flatMap(([key, { value, version }]) => {
    if (!key.startsWith(INFO_PREFIX)) return [];
    const info = chunkRecordSchema.parse(value);
    const { chunk_id } = info;
    return [
      {
        ...info,
        version,
        reads: Number(entries.get(readsKey(chunk_id))?.value ?? 0),
        used_at: Number(entries.get(usedKey(chunk_id))?.value ?? info.at),
        references: references.get(chunk_id) ?? [],
      },
    ];
  });
}
