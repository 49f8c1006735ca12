import type { FakeCall, FakeMessage, FakeMessagePart, FakePart } from '@starloom/sdk/testing';
import {
  type FakeApi,
  type FakeMedia,
  type FakeSpeech,
  type FakeSseEvent,
  fragments,
  hasCalls,
  isMedia,
  type Json,
  media,
  optional,
  parseJson,
  record,
  records,
  text,
  toArguments,
  toMedia,
} from './fake-api.ts';

/**
 * OpenAI chat completions, and compatible services. Media go out as content parts, the one shape
 * in which servers keep their order; reasoning as `reasoning_content`.
 */
export const openaiChat: FakeApi = {
  basePath: '/v1',
  path: /^\/v1\/chat\/completions$/,
  keyHeader: 'authorization',
  readQuestion: (body) => {
    const messages = records(body.messages);
    return {
      system: messages
        .filter(({ role }) => role === 'system' || role === 'developer')
        .map(({ content }) => content),
      messages: messages.flatMap(readMessage),
      tools: records(body.tools).map(({ function: tool }) => {
        const { name, description, parameters } = record(tool);
        return { name, description, parameters };
      }),
    };
  },
  writeBody: (speech, model) => ({
    ...head('chat.completion', model),
    choices: [{ index: 0, message: toMessage(speech), finish_reason: finishReason(speech) }],
    usage: toUsage(speech),
  }),
  writeStream: (speech, model) => ({
    said: [
      chunk(model, { role: 'assistant', content: '' }),
      ...speech.parts.flatMap((part) => deltas(part, speech)).map((delta) => chunk(model, delta)),
    ],
    ending: [
      chunk(model, {}, finishReason(speech)),
      { data: { ...head('chat.completion.chunk', model), choices: [], usage: toUsage(speech) } },
      { data: '[DONE]' },
    ],
  }),
  writeError: openaiError,
};

export function openaiError(status: number, message: string): object {
  return { error: { message, type: 'fake_error', param: null, code: String(status) } };
}

function readMessage(message: Json): FakeMessage[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', parts: readContent(message.content) }];
    case 'tool': {
      const result = { ...optional('id', message.tool_call_id), text: text(message.content) };
      return [{ role: 'user', parts: [{ result }] }];
    }
    case 'assistant': {
      const reasoning = text(message.reasoning_content);
      const parts: FakeMessagePart[] = [
        ...(reasoning === '' ? [] : [{ reasoning }]),
        ...readContent(message.content),
        ...records(message.tool_calls).map(readCall),
      ];
      return [{ role: 'assistant', parts }];
    }
    default:
      return [];
  }
}

function readContent(content: unknown): FakeMessagePart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }];
  return records(content).map((part) => {
    if (part.type === 'text') return { text: text(part.text) };
    if (part.type === 'input_audio')
      return { media: { data: text(record(part.input_audio).data) } };
    return { media: media(record(part.image_url ?? part.video_url).url) };
  });
}

function readCall({ id, function: tool }: Json): FakeMessagePart {
  const { name, arguments: args } = record(tool);
  return { call: { ...optional('id', id), name: text(name), args: parseJson(args) } };
}

function head(object: string, model: string): object {
  return { id: 'chatcmpl-1', object, created: 1_760_000_000, model };
}

function chunk(model: string, delta: object, finish_reason: string | null = null): FakeSseEvent {
  const choices = [{ index: 0, delta, finish_reason }];
  return { data: { ...head('chat.completion.chunk', model), choices } };
}

function toMessage(speech: FakeSpeech): object {
  const reasoning = speech.parts.flatMap((part) => ('reasoning' in part ? part.reasoning : []));
  const calls = speech.parts.flatMap((part) => ('call' in part ? part.call : []));
  return {
    role: 'assistant',
    content: toContent(speech.parts),
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join('') }),
    ...(calls.length > 0 && { tool_calls: calls.map((call, index) => toCall(call, index)) }),
  };
}

function toContent(parts: readonly FakePart[]): unknown {
  const said = parts.filter((part) => 'text' in part || isMedia(part));
  if (said.some(isMedia)) return said.map((part) => toContentPart(part));
  const words = said.flatMap((part) => ('text' in part ? part.text : []));
  return words.length === 0 ? null : words.join('');
}

function toContentPart(part: FakePart): object {
  if (isMedia(part)) return toMediaPart(part);
  return { type: 'text', text: 'text' in part ? part.text : '' };
}

function toMediaPart(part: FakeMedia): object {
  const { data, mimeType } = toMedia(part);
  if ('audio' in part) {
    return { type: 'input_audio', input_audio: { data, format: mimeType.split('/')[1] } };
  }
  const url = { url: `data:${mimeType};base64,${data}` };
  return 'image' in part
    ? { type: 'image_url', image_url: url }
    : { type: 'video_url', video_url: url };
}

function toCall(call: FakeCall, index: number): object {
  const { name, signature } = call;
  return {
    ...optional('id', idOf(call, index)),
    type: 'function',
    function: { name, arguments: toArguments(call) },
    ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
  };
}

function idOf({ id }: FakeCall, index: number): string | null {
  return id === undefined ? `call_${index + 1}` : id;
}

function deltas(part: FakePart, speech: FakeSpeech): object[] {
  if ('text' in part) return fragments(part.text).map((content) => ({ content }));
  if ('reasoning' in part) {
    return fragments(part.reasoning).map((reasoning_content) => ({ reasoning_content }));
  }
  if (isMedia(part)) return [{ content: [toMediaPart(part)] }];
  const calls = speech.parts.filter((other) => 'call' in other);
  return callDeltas(part.call, calls.indexOf(part));
}

/** The name comes first and whole, the arguments in fragments. */
function callDeltas(call: FakeCall, index: number): object[] {
  const { function: _, ...first } = record(toCall(call, index));
  const opening = { index, ...first, function: { name: call.name, arguments: '' } };
  const rest = fragments(toArguments(call)).map((piece) => ({
    index,
    function: { arguments: piece },
  }));
  return [opening, ...rest].map((fragment) => ({ tool_calls: [fragment] }));
}

function finishReason(speech: FakeSpeech): string {
  return speech.finish === 'stop' && hasCalls(speech) ? 'tool_calls' : speech.finish;
}

function toUsage({ usage }: FakeSpeech): object {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
  };
}
