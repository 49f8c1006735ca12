// Which chunks go, and how: one that an agent still needs stays, as long as that agent is there.

import type { CoordinationStore, Write } from '../coordination-store.ts';
import { keyOf, partitionOf, ROSTER } from '../partitions.ts';
import { type Amount, amountOf, covers, difference, firstThatCover } from '../quota/amount.ts';
import type { Measured } from '../quota/meter.ts';
import { memberSchema, parseRoster } from '../session/session-record.ts';
import { inBatches } from '../support/in-batches.ts';
import {
  chunksIn,
  countKey,
  type IndexedChunk,
  infoKey,
  readsKey,
  referenceKey,
  usedKey,
} from './chunk-record.ts';

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
