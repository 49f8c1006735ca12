// A model that says what its script says: for tests, and for an agent without a key. Every session
// begins at the first answer, and a session that asks the same gets the same, call ids included.

import { FabricError, orAborted, RecentMap, sha256Hex } from '@starloom/core';
import { type ContentSegment, defineProvider, type ProviderEvent } from '@starloom/sdk';
import { z } from 'zod';
import type { OpenedProvider } from './provider-host.ts';
import { type ScriptedResponse, scriptSchema, toResponse } from './script.ts';

export const scriptedSchema = z.strictObject({
  kind: z.literal('scripted').describe('A model that says what its script says'),
  script: scriptSchema.describe('One answer after the other'),
  cycle: z.boolean().default(false).describe('Begin again after the last answer'),
});

export type ScriptedConfig = z.output<typeof scriptedSchema>;

/** Sessions whose place in the script is remembered at least, those that asked last. */
const MAX_SESSIONS = 10_000;

export function createScripted({ script, cycle }: ScriptedConfig): OpenedProvider {
  const responses = script.map(toResponse);
  const places = new RecentMap<number>(MAX_SESSIONS);
  const provider = defineProvider({
    name: 'scripted',
    async *stream(_prompt, { sessionId = '', signal }) {
      const place = places.get(sessionId) ?? 0;
      places.set(sessionId, place + 1);
      const response = responses[cycle ? place % responses.length : place];
      if (response === undefined) throw scriptEnded(responses.length);
      for (const event of toEvents(response, `${sessionId}/${place}`)) {
        if (signal?.aborted) throw FabricError.from(signal.reason);
        yield event;
      }
      if (response.hang) await silence(signal);
      if (response.error) throw toScriptedError(response.error);
      yield { type: 'finish', metadata: toMetadata(response) };
    },
  });
  return { ...provider, close: async () => {} };
}

function* toEvents({ segments }: ScriptedResponse, place: string): Generator<ProviderEvent> {
  for (const [index, segment] of segments.entries()) {
    if (segment.type === 'text' || segment.type === 'reasoning') yield* toWordEvents(segment);
    else yield { type: 'segment', segment: withId(segment, `${place}/${index}`) };
  }
}

/** Word by word, as a model would; metadata of a segment comes with its last word. */
function* toWordEvents({
  type,
  text = '',
  providerMetadata,
}: ContentSegment): Generator<ProviderEvent> {
  const kind = type === 'reasoning' ? 'reasoning' : 'text';
  const pieces = text.match(/\S*\s+|\S+$/g) ?? [];
  for (const piece of pieces) yield { type: kind, text: piece };
  if (providerMetadata) yield { type: kind, text: '', providerMetadata };
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

function toMetadata({
  segments,
  metadata,
}: ScriptedResponse): NonNullable<ScriptedResponse['metadata']> {
  const hasCalls = segments.some(({ type }) => type === 'tool_call');
  return { finishReason: hasCalls ? 'tool_calls' : 'stop', model: 'scripted', ...metadata };
}

async function silence(signal: AbortSignal | undefined): Promise<never> {
  const forever = new Promise<never>(() => {});
  if (signal === undefined) return forever;
  return orAborted(forever, signal).catch((reason: unknown) => {
    throw FabricError.from(reason);
  });
}

function toScriptedError({
  code,
  message,
  details,
}: NonNullable<ScriptedResponse['error']>): FabricError {
  return new FabricError(code, message, { details });
}

function scriptEnded(length: number): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'The script of the model has ended', {
    details: {
      reason: 'script_ended',
      responses: length,
      fix: 'add responses to provider.script in agent.json, or set provider.cycle to true',
    },
  });
}
