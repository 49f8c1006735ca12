import { z } from 'zod';
import { anyAgentIdSchema } from '../agents/caller.ts';
import { CHUNK_ENCODINGS, chunkIdSchema, chunkInfoSchema } from '../buffer/chunk-index.ts';
import { failure } from '../reasons.ts';
import { defineMethod, limit, metadata, request, sessionId, time } from './define-method.ts';

const chunkId = chunkIdSchema.describe('"sha256:" and the hash of its bytes');
const encoding = z.enum(CHUNK_ENCODINGS);
const mediaType = z.string().min(1).max(128);
const chunkSchema = chunkInfoSchema.extend({
  reads: z.int(),
  used_at: time,
  references: z.array(z.string()).describe('Agents that need it'),
});

const putParams = request({
  session_id: sessionId,
  content: z.string().describe('The content'),
  encoding: encoding.default('utf8').describe('How it is written here'),
  media_type: mediaType.default('text/plain').describe('What it is'),
  metadata: metadata.default({}),
  retain: z.boolean().default(false).describe('Do not evict it while the caller is registered'),
});
export type NewChunk = z.output<typeof putParams>;

export const sharedBufferMethods = {
  'shared_buffer.put': defineMethod({
    summary:
      'Shares content with the session. Equal content is kept once, under the hash of its bytes, ' +
      'with the media type and metadata of the first put',
    params: putParams,
    result: z.object({
      chunk_id: z.string(),
      bytes: z.int(),
      media_type: z.string().describe('That of the first put'),
      deduplicated: z.boolean().describe('The session had this content already'),
    }),
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'session_suspended', 'quota'],
    effect: 'write',
    run: async ({ services, caller }, params) => await services.buffer.put(caller, params),
  }),

  'shared_buffer.get': defineMethod({
    summary:
      'The content of a chunk, as text if any agent put it as text, else in base64; or a part of it ' +
      'by bytes, in base64 unless asked for text',
    params: request({
      session_id: sessionId,
      chunk_id: chunkId,
      offset: z.int().min(0).default(0),
      length: z.int().min(1).optional(),
      encoding: encoding.optional().describe('How to write it; text must be UTF-8'),
    }),
    result: z.object({
      content: z.string(),
      encoding,
      media_type: z.string(),
      bytes: z.int().describe('Of the whole'),
      metadata,
    }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'read',
    run: async ({ services, caller }, { session_id, chunk_id, offset, length, encoding: how }) => {
      const part = { offset, length, encoding: how };
      const got = await services.buffer.get(caller, session_id, chunk_id, part);
      const { media_type, bytes, metadata: about } = got.info;
      return { content: got.content, encoding: got.encoding, media_type, bytes, metadata: about };
    },
  }),

  'shared_buffer.list': defineMethod({
    summary: 'The chunks of a session, those last used first',
    params: request({
      session_id: sessionId,
      by: anyAgentIdSchema.optional().describe('Only what this agent put'),
      limit,
    }),
    result: z.object({ chunks: z.array(chunkSchema), total: z.int() }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'read',
    run: async ({ services, caller }, { session_id, by, limit: count }) => {
      const all = [...(await services.buffer.list(caller, session_id, by))];
      const latest = all.sort((a, b) => b.used_at - a.used_at).slice(0, count);
      const chunks = latest.map(({ reads, used_at, references, ...chunk }) => ({
        ...chunkInfoSchema.parse(chunk),
        reads,
        used_at,
        references: [...references],
      }));
      return { chunks, total: all.length };
    },
  }),

  'shared_buffer.evict': defineMethod({
    summary: 'Removes a chunk, or as many of the least used as it takes to free some bytes',
    params: request({
      session_id: sessionId,
      chunk_id: chunkId.optional(),
      bytes: z.int().min(1).optional().describe('How many bytes to free'),
    }),
    result: z.object({ evicted: z.array(z.string()), bytes: z.int() }),
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'session_suspended', 'conflict'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, chunk_id, bytes }) => {
      const what = chunk_id !== undefined ? { chunkId: chunk_id } : toRoom(bytes);
      const gone = await services.buffer.evict(caller, session_id, what);
      return {
        evicted: gone.map((chunk) => chunk.chunk_id),
        bytes: gone.reduce((sum, chunk) => sum + chunk.bytes, 0),
      };
    },
  }),

  'shared_buffer.stats': defineMethod({
    summary: 'How many chunks there are, and how often they were read',
    params: request({
      session_id: sessionId,
      reset: z.boolean().default(false).describe('Reset the counts'),
    }),
    result: z.object({
      chunks: z.int(),
      bytes: z.int(),
      references: z.int(),
      hits: z.int(),
      misses: z.int(),
      hit_rate: z.number(),
      deduplicated: z.int(),
      evicted: z.int(),
    }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    run: async ({ services, caller }, { session_id, reset }) =>
      await services.buffer.stats(caller, session_id, reset),
  }),
};

function toRoom(bytes: number | undefined): { bytes: number } {
  if (bytes !== undefined) return { bytes };
  throw failure('bad_params/nothing_to_evict');
}
