import { createHash } from 'node:crypto';
import type { Json } from '@starloom/core';
import { z } from 'zod';
import type { Snapshot } from '../coordination-store.ts';
import { jsonObjectSchema } from '../json/json.ts';

export const CHUNK_ENCODINGS = ['utf8', 'base64'] as const;
export type ChunkEncoding = (typeof CHUNK_ENCODINGS)[number];

export const chunkIdSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'expected a chunk id');

export const chunkInfoSchema = z.object({
  chunk_id: z.string(),
  bytes: z.number(),
  media_type: z.string(),
  /** How it is given back: as text once anybody put it as text. */
  encoding: z.enum(CHUNK_ENCODINGS),
  metadata: jsonObjectSchema,
  agent_id: z.string(),
  at: z.number(),
});

export const chunkRecordSchema = chunkInfoSchema.extend({
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
  /** Agents that need it. */
  readonly references: readonly string[];
}

/** As it is kept; before it named its encoding, only the hash can tell. */
export function toChunkBody(value: Json, chunkId: string): ChunkBody {
  if (typeof value !== 'string') return chunkBodySchema.parse(value);
  const isText = chunkIdOf(Buffer.from(value, 'utf8')) === chunkId;
  return { encoding: isText ? 'utf8' : 'base64', content: value };
}

export function chunkIdOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

export const infoKey = (chunkId: string) => `info/${chunkId}`;
export const readsKey = (chunkId: string) => `reads/${chunkId}`;
export const usedKey = (chunkId: string) => `used/${chunkId}`;
export const referenceKey = (chunkId: string, agentId: string) => `ref/${chunkId}/${agentId}`;
export const countKey = (name: string) => `count/${name}`;

const INFO_PREFIX = infoKey('');
const REFERENCE = /^ref\/(sha256:[0-9a-f]{64})\/(.+)$/;

export function chunksIn({ entries }: Snapshot): readonly IndexedChunk[] {
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
