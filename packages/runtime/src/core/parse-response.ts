// What a provider said, made safe to act on: every segment is of a kind we know, every call has an id
// of its own. What cannot be understood stays visible as text; an answer that is no answer at all is
// an error.

import { FabricError, isObject, socketErrorCode } from '@starloom/core';
import type {
  AgentPainException,
  ContentSegment,
  ContentType,
  ProviderResponse,
  ToolCall,
} from '@starloom/sdk';
import { failure } from '../reasons.ts';

const MAX_SHOWN_CHARACTERS = 500;

export function parseResponse(given: unknown): ProviderResponse {
  if (!isObject(given) || !Array.isArray(given.segments)) {
    throw failure('unreadable_answer/provider');
  }
  const ids = new Set<string>();
  const segments = given.segments.map((segment) => parseSegment(segment, ids));
  return { segments, ...(isObject(given.metadata) && { metadata: given.metadata }) };
}

/** The calls of a parsed response, in order. */
export function callsOf({ segments }: ProviderResponse): Required<ToolCall>[] {
  return segments.flatMap(({ toolCall }) =>
    toolCall?.id === undefined ? [] : { ...toolCall, id: toolCall.id },
  );
}

/** Whatever a provider threw, as the one error. Transient where it looks like a broken network. */
export function toProviderError(thrown: unknown): FabricError {
  if (FabricError.is(thrown)) return thrown;
  if (isPain(thrown)) {
    return new FabricError('UPSTREAM_ERROR', thrown.message, {
      details: { ...thrown.details, reason: 'pain' },
      cause: thrown,
    });
  }
  const network = socketErrorCode(thrown);
  if (network !== undefined && NETWORK_CODE.test(network)) {
    return failure('network', { network }, { cause: thrown });
  }
  const error = FabricError.from(thrown);
  if (error.code !== 'INTERNAL') return error;
  return failure('provider_failed', statusOf(thrown), { cause: thrown });
}

/** By its fields: a plugin may bring its own copy of the sdk. */
function isPain(thrown: unknown): thrown is AgentPainException {
  return isObject(thrown) && thrown.name === 'AgentPainException';
}

function parseSegment(given: unknown, ids: Set<string>): ContentSegment {
  if (!isObject(given) || !isReadable(given)) return unreadableSegment(given);
  if (given.type !== 'tool_call' || !given.toolCall) return given;
  return { ...given, toolCall: withOwnId(given.toolCall, ids) };
}

function withOwnId(call: ToolCall, ids: Set<string>): Required<ToolCall> {
  const { id: given, name, args } = call;
  const isUsable = typeof given === 'string' && given !== '' && !ids.has(given);
  const id = isUsable ? given : crypto.randomUUID();
  ids.add(id);
  return { id, name, args: args ?? {} };
}

type Check = (segment: Record<string, unknown>) => boolean;

const hasText: Check = ({ text }) => typeof text === 'string';
const hasData: Check = ({ data }) => typeof data === 'string';

/** What a segment must have to be one of its kind. A model cannot answer its own calls. */
const CHECKS = {
  text: hasText,
  reasoning: ({ text, providerMetadata }) => typeof text === 'string' || isObject(providerMetadata),
  image: hasData,
  audio: hasData,
  video: hasData,
  file: hasData,
  ui: ({ ui }) => ui !== undefined,
  tool_call: ({ toolCall }) => isObject(toolCall) && typeof toolCall.name === 'string',
  tool_result: () => false,
} as const satisfies Record<ContentType, Check>;

function isReadable(segment: Record<string, unknown>): segment is ContentSegment & typeof segment {
  const { type } = segment;
  return (
    typeof type === 'string' && Object.hasOwn(CHECKS, type) && CHECKS[type as ContentType](segment)
  );
}

function unreadableSegment(given: unknown): ContentSegment {
  const shown = (JSON.stringify(given) ?? String(given)).slice(0, MAX_SHOWN_CHARACTERS);
  return { type: 'text', text: `[The model sent something that could not be read: ${shown}]` };
}

const NETWORK_CODE = /^(E(CONN|HOST|NET|PIPE|AI_|NOTFOUND|TIMEDOUT)|UND_ERR_)/;

function statusOf(thrown: unknown): { status?: number } {
  if (!isObject(thrown)) return {};
  const status = thrown.status ?? thrown.statusCode;
  return typeof status === 'number' ? { status } : {};
}
