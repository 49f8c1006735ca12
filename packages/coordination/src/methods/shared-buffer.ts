import { z } from 'zod';
import { anyAgentIdSchema } from '../agents/caller.ts';
import { CHUNK_ENCODINGS, chunkIdSchema, chunkInfoSchema } from '../buffer/chunk-record.ts';
import { refuse } from '../errors.ts';
import { defineMethod, request } from './define-method.ts';
import { exampleSession, exampleTime, limit, metadata, sessionId, time } from './fields.ts';

const chunkId = chunkIdSchema.describe('"sha256:" and the hash of its bytes');
const encoding = z.enum(CHUNK_ENCODINGS);
const mediaType = z.string().min(1).max(128);
const chunkSchema = chunkInfoSchema.extend({
  reads: z.int(),
  used_at: time,
  references: z.array(z.string()).describe('Agents that need it'),
});

const exampleId = `sha256:${'0'.repeat(64)}`;
const exampleInfo = {
  chunk_id: exampleId,
  bytes: 12,
  media_type: 'text/plain',
  encoding: 'utf8' as const,
  metadata: {},
  agent_id: 'researcher',
  at: exampleTime,
};

export const sharedBufferMethods = {
  'shared_buffer.put': defineMethod({
    summary:
      'Shares content with the session. Equal content is kept once, under the hash of its bytes, ' +
      'with the media type and metadata of who put it first',
    params: request({
      session_id: sessionId,
      content: z.string().describe('The content'),
      encoding: encoding.default('utf8').describe('How it is written here'),
      media_type: mediaType.default('text/plain').describe('What it is'),
      metadata: metadata.default({}),
      retain: z.boolean().default(false).describe('Keep it while the caller is there'),
    }),
    result: z.object({
      chunk_id: z.string(),
      bytes: z.int(),
      media_type: z.string().describe('As what it is kept; that of who put it first'),
      deduplicated: z.boolean().describe('It was there already'),
    }),
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'session_suspended', 'quota'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession, content: 'long finding' },
      result: {
        chunk_id: exampleId,
        bytes: 12,
        media_type: 'text/plain',
        deduplicated: false,
      },
    },
    run: async ({ services, caller }, params) => await services.buffer.put(caller, params),
  }),

  'shared_buffer.get': defineMethod({
    summary:
      'The content of a chunk, as text if anybody put it as text, else in base64; or a part of it ' +
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
    example: {
      params: { session_id: exampleSession, chunk_id: exampleId },
      result: {
        content: 'long finding',
        encoding: 'utf8',
        media_type: 'text/plain',
        bytes: 12,
        metadata: {},
      },
    },
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
    example: {
      params: { session_id: exampleSession },
      result: {
        chunks: [{ ...exampleInfo, reads: 2, used_at: exampleTime, references: ['writer'] }],
        total: 1,
      },
    },
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
      bytes: z.int().min(1).optional().describe('How much to free'),
    }),
    result: z.object({ evicted: z.array(z.string()), bytes: z.int() }),
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'session_suspended', 'conflict'],
    effect: 'write',
    example: {
      params: { session_id: exampleSession, chunk_id: exampleId },
      result: { evicted: [exampleId], bytes: 12 },
    },
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
    summary: 'How much there is, and how often it helped',
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
    example: {
      params: { session_id: exampleSession },
      result: {
        chunks: 1,
        bytes: 12,
        references: 1,
        hits: 2,
        misses: 0,
        hit_rate: 1,
        deduplicated: 0,
        evicted: 0,
      },
    },
    run: async ({ services, caller }, { session_id, reset }) =>
      await services.buffer.stats(caller, session_id, reset),
  }),
};

function toRoom(bytes: number | undefined): { bytes: number } {
  if (bytes !== undefined) return { bytes };
  throw refuse('bad_params', 'Nothing is named to evict', { fix: 'send chunk_id, or bytes' });
}
