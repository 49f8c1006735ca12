// Larger things that the members of a session share. A chunk is named by the hash of its content,
// so equal content is kept once. When room is needed, chunks without a reference go, those not used
// for longest first.

import { isUtf8 } from 'node:buffer';
import type { Caller } from './agents/caller.ts';
import {
  type ChunkBody,
  type ChunkEncoding,
  ChunkIndex,
  type ChunkRecord,
  chunkIdOf,
  type IndexedChunk,
  toChunkBody,
} from './buffer/chunk-index.ts';
import { jsonBytes } from './json/json.ts';
import type { NewChunk } from './methods/shared-buffer.ts';
import { partitionOf } from './partitions.ts';
import { assertSize } from './quota/limits.ts';
import { Meter } from './quota/meter.ts';
import { failure } from './reasons.ts';
import type { Services } from './services.ts';
import type { Access } from './session/session-access.ts';
import type { Role } from './session/session-record.ts';

type SharedBufferOptions = Pick<Services, 'store' | 'clock' | 'limits' | 'budgets' | 'access'>;

/** Which part of a chunk, by bytes, and how it is written. */
export interface ChunkPart {
  readonly offset: number;
  readonly length?: number | undefined;
  readonly encoding?: ChunkEncoding | undefined;
}

export class SharedBuffer {
  readonly #options: SharedBufferOptions;
  readonly #index: ChunkIndex;
  readonly #meter: Meter;

  constructor(options: SharedBufferOptions) {
    const { store, clock, limits } = options;
    this.#options = options;
    this.#index = new ChunkIndex(store, clock);
    const fix = 'evict chunks that no agent refers to';
    this.#meter = new Meter({ limits, entries: 'buffer_chunks', bytes: 'buffer_bytes', fix });
  }

  async put(caller: Caller, chunk: NewChunk) {
    const { limits } = this.#options;
    const { session_id: sessionId, metadata } = chunk;
    const { meta } = await this.#admit(caller, sessionId, 'writer');
    assertContent(chunk);
    const bytes = Buffer.byteLength(chunk.content, chunk.encoding);
    assertSize('chunk_bytes', bytes, limits);
    assertSize('metadata_bytes', jsonBytes(metadata), limits);
    const chunk_id = chunkIdOf(chunk);
    const known = await this.#index.get(sessionId, chunk_id);
    if (known) await this.#noteAgain(sessionId, known, chunk);
    else await this.#add(caller, chunk, { chunk_id, bytes, owner: meta.principal });
    if (chunk.retain) await this.#index.retain(sessionId, chunk_id, caller.agentId);
    const { media_type } = known ?? chunk;
    return { chunk_id, bytes, media_type, deduplicated: known !== undefined };
  }

  /** The content, as text if it was ever put as text; a part of it in base64, unless asked for text. */
  async get(caller: Caller, sessionId: string, chunkId: string, part: ChunkPart) {
    const { store } = this.#options;
    await this.#admit(caller, sessionId, 'reader');
    const [info, bodies] = await Promise.all([
      this.#index.get(sessionId, chunkId),
      store.read(partitionOf.chunkBodies(sessionId), [chunkId]),
    ]);
    const body = bodies.entries.get(chunkId)?.value;
    if (info === undefined || body === undefined) {
      await this.#index.count(sessionId, 'misses');
      throw failure('not_found/chunk', { chunk_id: chunkId });
    }
    await this.#index.noteRead(sessionId, chunkId);
    return { info, ...cut(toChunkBody(body, chunkId), info, part) };
  }

  async list(caller: Caller, sessionId: string, by?: string): Promise<readonly IndexedChunk[]> {
    await this.#admit(caller, sessionId, 'reader');
    const chunks = await this.#index.all(sessionId);
    return by === undefined ? chunks : chunks.filter(({ agent_id }) => agent_id === by);
  }

  async evict(
    caller: Caller,
    sessionId: string,
    what: { readonly chunkId: string } | { readonly bytes: number },
  ): Promise<readonly IndexedChunk[]> {
    await this.#admit(caller, sessionId, 'writer');
    if ('bytes' in what) {
      return await this.#index.makeRoom(sessionId, { entries: 0, bytes: what.bytes });
    }
    for (;;) {
      const chunks = await this.#index.all(sessionId);
      const chunk = chunks.find(({ chunk_id }) => chunk_id === what.chunkId);
      if (chunk === undefined) throw failure('not_found/chunk', { chunk_id: what.chunkId });
      const present = await this.#index.presentAgents(sessionId);
      const others = chunk.references.filter((id) => id !== caller.agentId && present.has(id));
      if (others.length > 0) throw referencedFailure(chunk, others);
      if (await this.#index.evict(sessionId, chunk)) return [chunk];
    }
  }

  async stats(caller: Caller, sessionId: string, reset: boolean) {
    await this.#admit(caller, sessionId, reset ? 'writer' : 'reader');
    const stats = await this.#index.stats(sessionId);
    if (reset) await this.#index.reset(sessionId);
    return stats;
  }

  async #admit(caller: Caller, sessionId: string, role: Role): Promise<Access> {
    const need = role === 'writer' ? ({ role, state: 'active' } as const) : { role };
    return await this.#options.access.fresh(caller, sessionId, need);
  }

  /** An agent that put the same bytes as text gets text back. */
  async #noteAgain(sessionId: string, known: ChunkRecord, { encoding }: NewChunk): Promise<void> {
    await this.#index.count(sessionId, 'deduplicated');
    if (encoding !== 'utf8' || known.encoding === 'utf8') return;
    await this.#index.setEncoding(sessionId, known.chunk_id, encoding);
  }

  async #add(
    caller: Caller,
    chunk: NewChunk,
    { chunk_id, bytes, owner }: { chunk_id: string; bytes: number; owner: string },
  ): Promise<void> {
    const { store, clock, budgets } = this.#options;
    const { session_id: sessionId, media_type, metadata, encoding } = chunk;
    using _ = await this.#meter.hold({
      name: sessionId,
      more: { entries: 1, bytes },
      measure: () => this.#index.measure(sessionId),
    });
    await budgets.reserve(owner, chunk.content.length + jsonBytes(metadata));
    const value: ChunkBody = { encoding, content: chunk.content };
    const bodies = partitionOf.chunkBodies(sessionId);
    const writes = [{ kind: 'put', key: chunk_id, value }] as const;
    const written = await store.commit(bodies, { writes });
    const body_version = written.ok ? written.version : 0;
    const { agentId: agent_id } = caller;
    const at = clock.now();
    const info = { chunk_id, bytes, media_type, encoding, metadata, agent_id, at, body_version };
    await this.#index.add(sessionId, info);
  }
}

/** Text that is UTF-8, or base64 as it is usually written. */
function assertContent({ content, encoding }: NewChunk): void {
  const isRight =
    encoding === 'utf8'
      ? content.isWellFormed()
      : Buffer.from(content, encoding).toString(encoding) === content;
  if (!isRight) throw failure('bad_params/content', { encoding });
}

function cut(body: ChunkBody, info: ChunkRecord, { offset, length, encoding: asked }: ChunkPart) {
  const isWhole = offset === 0 && length === undefined;
  const encoding = asked ?? (isWhole ? info.encoding : 'base64');
  if (isWhole && encoding === body.encoding) return body;
  const end = length === undefined ? undefined : offset + length;
  const bytes = Buffer.from(body.content, body.encoding).subarray(offset, end);
  if (encoding === 'utf8' && !isUtf8(bytes)) {
    throw failure('bad_params/not_text', { chunk_id: info.chunk_id });
  }
  return { content: bytes.toString(encoding), encoding };
}

function referencedFailure(chunk: IndexedChunk, references: readonly string[]) {
  const { chunk_id, version } = chunk;
  const current = { references: chunk.references };
  return failure('conflict/referenced', {
    chunk_id,
    references,
    current_version: version,
    current,
  });
}
