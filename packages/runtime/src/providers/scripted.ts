// A model that says what its script says: for tests, and for an agent without a key. Every session
// begins at the first answer, and a session that asks the same gets the same, call ids included.

import {
  ERRORS,
  type ErrorCode,
  FabricError,
  orAborted,
  RecentMap,
  sha256Hex,
} from '@starloom/core';
import {
  type ContentSegment,
  defineProvider,
  type ProviderEvent,
  type ResponseMetadata,
} from '@starloom/sdk';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import { PLAN_TOOL } from '../trust/plans.ts';
import type { OpenedProvider } from './provider-host.ts';

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
const fileSchema = mediaSchema.extend({
  type: z.literal('file'),
  name: z.string().exactOptional().describe('Such as report.pdf'),
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
    output: z.array(z.discriminatedUnion('type', [wordsSchema, mediaSchema, fileSchema, uiSchema])),
    isError: z.boolean().exactOptional(),
  }),
  providerMetadata: opaque,
});
const segmentSchema = z.discriminatedUnion('type', [
  wordsSchema,
  mediaSchema,
  fileSchema,
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

export const scriptedSchema = z.strictObject({
  kind: z.literal('scripted').describe('A model that says what its script says'),
  script: z.array(responseSchema).min(1).describe('One answer after the other'),
  cycle: z.boolean().default(false).describe('Begin again after the last answer'),
});

type ScriptedConfig = z.output<typeof scriptedSchema>;

/** Sessions whose place in the script is remembered at least, those that asked last. */
const MAX_SESSIONS = 10_000;

export function createScripted({ script, cycle }: ScriptedConfig): OpenedProvider {
  const responses = script.map(toResponse);
  const places = new RecentMap<number>(MAX_SESSIONS);
  const provider = defineProvider({
    name: 'scripted',
    async *stream(_prompt, { sessionId = '', signal, tools }) {
      const place = places.get(sessionId) ?? 0;
      const response = responses[cycle ? place % responses.length : place];
      // A script that has no plan here is not moved on by the question for one.
      if (isForPlan(tools) && !statesPlan(response)) {
        yield { type: 'finish', metadata: { finishReason: 'stop', model: 'scripted' } };
        return;
      }
      places.set(sessionId, place + 1);
      if (response === undefined) throw failure('script_ended', { responses: responses.length });
      for (const event of toEvents(response, `${sessionId}/${place}`)) {
        if (signal?.aborted) throw FabricError.from(signal.reason);
        yield event;
      }
      if (response.hang) await silence(signal);
      if (response.error) {
        const { code, message, details } = response.error;
        throw new FabricError(code, message, { details });
      }
      yield { type: 'finish', metadata: toMetadata(response) };
    },
  });
  return { ...provider, takes: ['image', 'audio'], close: async () => {} };
}

function isForPlan(tools: ReadonlyMap<string, unknown>): boolean {
  return tools.size === 1 && tools.has(PLAN_TOOL);
}

function statesPlan(response: ScriptedResponse | undefined): boolean {
  return response?.segments.some(({ toolCall }) => toolCall?.name === PLAN_TOOL) ?? false;
}

function* toEvents({ segments }: ScriptedResponse, place: string): Generator<ProviderEvent> {
  for (const [index, segment] of segments.entries()) {
    if (segment.type === 'text' || segment.type === 'reasoning') yield* toWordEvents(segment);
    else yield { type: 'segment', segment: withId(segment, `${place}/${index}`) };
  }
}

/** Word by word, as a model would; metadata of a segment comes with its last word. */
function* toWordEvents(segment: ContentSegment): Generator<ProviderEvent> {
  const { text = '', providerMetadata } = segment;
  const type = segment.type === 'reasoning' ? 'reasoning' : 'text';
  for (const piece of text.match(/\S*\s+|\S+$/g) ?? []) yield { type, text: piece };
  if (providerMetadata) yield { type, text: '', providerMetadata };
}

function withId(segment: ContentSegment, place: string): ContentSegment {
  if (segment.toolCall === undefined) return { ...segment };
  return { ...segment, toolCall: { id: toUuid(place), ...segment.toolCall } };
}

/** Version 8 of RFC 9562: digits of our own making. */
function toUuid(place: string): string {
  const hex = sha256Hex(place);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

function toMetadata({ segments, metadata }: ScriptedResponse): ResponseMetadata {
  const hasCalls = segments.some(({ type }) => type === 'tool_call');
  return { finishReason: hasCalls ? 'tool_calls' : 'stop', model: 'scripted', ...metadata };
}

async function silence(signal = new AbortController().signal): Promise<never> {
  return orAborted(new Promise<never>(() => {}), signal).catch((reason: unknown) => {
    throw FabricError.from(reason);
  });
}

interface ScriptedResponse {
  readonly segments: readonly ContentSegment[];
  readonly metadata?: ResponseMetadata;
  readonly error?: z.output<typeof errorSchema>;
  readonly hang?: true;
}

function toResponse(response: z.output<typeof responseSchema>): ScriptedResponse {
  if (typeof response === 'string') return { segments: [toSegment(response)] };
  if (Array.isArray(response)) return { segments: response.map(toSegment) };
  return { ...response, segments: response.segments.map(toSegment) };
}

function toSegment(segment: string | z.output<typeof segmentSchema>): ContentSegment {
  return typeof segment === 'string' ? { type: 'text', text: segment } : { ...segment };
}
