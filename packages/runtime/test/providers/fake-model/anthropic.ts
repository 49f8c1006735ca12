import type { FakeMessagePart, FakePart } from '@starloom/sdk/testing';
import {
  type Json as Block,
  cannotSay,
  type FakeApi,
  type FakeSpeech,
  type FakeSseEvent,
  fragments,
  hasCalls,
  optional,
  record,
  records,
  text,
  toArguments,
} from './fake-api.ts';

/** Anthropic messages: every part is a content block. Pictures it can only see. */
export const anthropic: FakeApi = {
  basePath: '/v1',
  path: /^\/v1\/messages$/,
  keyHeader: 'x-api-key',
  readQuestion: (body) => ({
    system: contentOf(body.system).map((block) => block.text),
    messages: records(body.messages).map(({ role, content }) => ({
      role: role === 'assistant' ? 'assistant' : 'user',
      parts: contentOf(content).map(readBlock),
    })),
    tools: records(body.tools).map(({ name, description, input_schema: parameters }) => {
      return { name, description, parameters };
    }),
  }),
  writeBody: (speech, model) => ({
    ...head(model),
    content: speech.parts.map(toBlock),
    stop_reason: stopReason(speech),
    stop_sequence: null,
    usage: { ...inputUsage(speech), output_tokens: speech.usage.output },
  }),
  writeStream: (speech, model) => {
    const usage = { ...inputUsage(speech), output_tokens: 1 };
    const message = { ...head(model), content: [], stop_reason: null, stop_sequence: null, usage };
    return {
      said: [{ type: 'message_start', message }, ...speech.parts.flatMap(blockEvents)].map(toEvent),
      ending: [
        {
          type: 'message_delta',
          delta: { stop_reason: stopReason(speech), stop_sequence: null },
          usage: { output_tokens: speech.usage.output },
        },
        { type: 'message_stop' },
      ].map(toEvent),
    };
  },
  writeError: (status, message) => ({
    type: 'error',
    error: { type: ERROR_TYPES[status] ?? 'api_error', message },
  }),
};

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

function contentOf(content: unknown): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : records(content);
}

function readBlock(block: Block): FakeMessagePart {
  switch (block.type) {
    case 'thinking':
      return { reasoning: text(block.thinking) };
    case 'tool_use':
      return { call: { ...optional('id', block.id), name: text(block.name), args: block.input } };
    case 'tool_result': {
      const shown = contentOf(block.content).map((part) => text(part.text));
      return { result: { ...optional('id', block.tool_use_id), text: shown.join('\n') } };
    }
    case 'image':
    case 'document': {
      const source = record(block.source);
      const data = text(source.data ?? source.url);
      return { media: { ...optional('mimeType', source.media_type), data } };
    }
    default:
      return { text: text(block.text) };
  }
}

function head(model: string): object {
  return { id: 'msg_1', type: 'message', role: 'assistant', model };
}

function inputUsage({ usage }: FakeSpeech): object {
  return {
    input_tokens: usage.input - usage.cacheRead,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: 0,
  };
}

function stopReason(speech: FakeSpeech): string {
  if (speech.finish === 'length') return 'max_tokens';
  if (speech.finish === 'content_filter') return 'refusal';
  return hasCalls(speech) ? 'tool_use' : 'end_turn';
}

function toBlock(part: FakePart, index: number): Block {
  if ('text' in part) return { type: 'text', text: part.text };
  if ('reasoning' in part) {
    return { type: 'thinking', thinking: part.reasoning, signature: part.signature ?? '' };
  }
  if (!('call' in part)) throw cannotSay('anthropic', part);
  const { id, name, args } = part.call;
  return { type: 'tool_use', id: id ?? `toolu_${index}`, name, input: args };
}

function blockEvents(part: FakePart, index: number): Block[] {
  return [
    { type: 'content_block_start', index, content_block: openingBlock(toBlock(part, index)) },
    ...deltas(part).map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function openingBlock(block: Block): Block {
  if (block.type === 'text') return { type: 'text', text: '' };
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return { ...block, input: {} };
}

function deltas(part: FakePart): Block[] {
  if ('text' in part) {
    return fragments(part.text).map((piece) => ({ type: 'text_delta', text: piece }));
  }
  if ('reasoning' in part) {
    const thoughts = fragments(part.reasoning);
    return [
      ...thoughts.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: part.signature ?? '' },
    ];
  }
  const pieces = 'call' in part ? fragments(toArguments(part.call)) : [];
  return pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json }));
}

function toEvent(event: Block): FakeSseEvent {
  return { event: text(event.type), data: event };
}
