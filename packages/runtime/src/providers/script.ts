import { ERRORS, type ErrorCode } from '@starloom/core';
import type { ContentSegment, ResponseMetadata } from '@starloom/sdk';
import { z } from 'zod';

const opaque = z.record(z.string(), z.unknown()).exactOptional();

const wordsSchema = z.strictObject({
  type: z.enum(['text', 'reasoning']),
  text: z.string(),
  providerMetadata: opaque,
});
const mediaSchema = z.strictObject({
  type: z.enum(['image', 'audio', 'video']),
  data: z.string().describe('Base64 or a URL'),
  mimeType: z.string().exactOptional(),
  providerMetadata: opaque,
});
const uiSchema = z.strictObject({
  type: z.literal('ui'),
  ui: z.unknown(),
  providerMetadata: opaque,
});
const toolCallSchema = z.strictObject({
  type: z.literal('tool_call'),
  toolCall: z.strictObject({
    id: z.string().exactOptional(),
    name: z.string().min(1),
    args: z.unknown().prefault({}),
  }),
  providerMetadata: opaque,
});
const toolResultSchema = z.strictObject({
  type: z.literal('tool_result'),
  toolResult: z.strictObject({
    id: z.string(),
    name: z.string(),
    output: z.array(z.discriminatedUnion('type', [wordsSchema, mediaSchema, uiSchema])),
    isError: z.boolean().exactOptional(),
  }),
  providerMetadata: opaque,
});
const segmentSchema = z.discriminatedUnion('type', [
  wordsSchema,
  mediaSchema,
  uiSchema,
  toolCallSchema,
  toolResultSchema,
]);
const segmentsSchema = z.array(z.union([z.string(), segmentSchema]));

const errorSchema = z.strictObject({
  code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
  message: z.string().default('The script says so'),
  details: z.record(z.string(), z.unknown()).default({}),
});

const responseSchema = z.union([
  z.string(),
  segmentsSchema,
  z.strictObject({
    segments: segmentsSchema.default([]),
    metadata: z.looseObject({}).exactOptional(),
    error: errorSchema.exactOptional().describe('Thrown after the segments'),
    hang: z.literal(true).exactOptional().describe('Silent after the segments, until cancelled'),
  }),
]);

/** What a scripted model says: strings, lists of segments, or responses with more to them. */
export const scriptSchema = z.array(responseSchema).min(1);

export type Script = z.output<typeof scriptSchema>;

export interface ScriptedResponse {
  readonly segments: readonly ContentSegment[];
  readonly metadata?: ResponseMetadata;
  readonly error?: z.output<typeof errorSchema>;
  readonly hang?: true;
}

export function toResponse(response: Script[number]): ScriptedResponse {
  if (typeof response === 'string') return { segments: [toSegment(response)] };
  if (Array.isArray(response)) return { segments: response.map(toSegment) };
  return { ...response, segments: response.segments.map(toSegment) };
}

function toSegment(segment: string | z.output<typeof segmentSchema>): ContentSegment {
  return typeof segment === 'string' ? { type: 'text', text: segment } : { ...segment };
}
