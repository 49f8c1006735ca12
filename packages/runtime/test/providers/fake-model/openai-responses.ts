import type { FakeMessage, FakeMessagePart, FakePart } from '@starloom/sdk/testing';
import {
  cannotSay,
  type FakeApi,
  type FakeSpeech,
  type FakeSseEvent,
  fragments,
  type Json as Item,
  media,
  optional,
  parseJson,
  records,
  text,
  toArguments,
} from './fake-api.ts';

import { openaiError } from './openai-chat.ts';

/** OpenAI responses: every part is an output item of its own. A picture is a generated one. */
export const openaiResponses: FakeApi = {
  basePath: '/v1',
  path: /^\/v1\/responses$/,
  keyHeader: 'authorization',
  readQuestion: (body) => {
    const input = records(body.input);
    const isSystem = ({ role }: Item) => role === 'system' || role === 'developer';
    return {
      system: [body.instructions, ...input.filter(isSystem).map(({ content }) => content)],
      messages: input.filter((item) => !isSystem(item)).flatMap(readItem),
      tools: records(body.tools).map(({ name, description, parameters }) => {
        return { name, description, parameters };
      }),
    };
  },
  writeBody: (speech, model) => ({
    ...head(model),
    status: speech.finish === 'stop' ? 'completed' : 'incomplete',
    ...ending(speech),
    output: speech.parts.map(toItem),
  }),
  writeStream: (speech, model) => {
    const said = [
      { type: 'response.created', response: { ...head(model), status: 'in_progress' } },
      ...speech.parts.flatMap(itemEvents),
    ];
    const isWhole = speech.finish === 'stop';
    const type = isWhole ? 'response.completed' : 'response.incomplete';
    const status = isWhole ? 'completed' : 'incomplete';
    const output = speech.parts.map(toItem);
    return {
      said: said.map(toEvent),
      ending: [{ type, response: { ...head(model), status, ...ending(speech), output } }].map(
        (event, index) => toEvent(event, said.length + index),
      ),
    };
  },
  writeError: openaiError,
};

function readItem(item: Item): FakeMessage[] {
  switch (item.type) {
    case 'function_call': {
      const args = parseJson(item.arguments);
      const call = { ...optional('id', item.call_id), name: text(item.name), args };
      return [{ role: 'assistant', parts: [{ call }] }];
    }
    case 'function_call_output': {
      const result = { ...optional('id', item.call_id), text: text(item.output) };
      return [{ role: 'user', parts: [{ result }] }];
    }
    case 'reasoning': {
      const reasoning = records(item.summary).map((part) => text(part.text));
      return [{ role: 'assistant', parts: [{ reasoning: reasoning.join('') }] }];
    }
    default: {
      const role = item.role === 'assistant' ? 'assistant' : 'user';
      return [{ role, parts: readContent(item.content) }];
    }
  }
}

function readContent(content: unknown): FakeMessagePart[] {
  if (typeof content === 'string') return [{ text: content }];
  return records(content).map((part) =>
    part.type === 'input_image' || part.type === 'input_file'
      ? { media: media(part.image_url ?? part.file_data ?? part.file_url) }
      : { text: text(part.text) },
  );
}

function head(model: string): object {
  return { id: 'resp_1', object: 'response', created_at: 1_760_000_000, model };
}

function ending({ finish, usage }: FakeSpeech): object {
  const reason = finish === 'length' ? 'max_output_tokens' : finish;
  return {
    incomplete_details: finish === 'stop' ? null : { reason },
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cacheRead },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.output,
    },
  };
}

function toItem(part: FakePart, index: number): Item {
  if ('text' in part) {
    const content = [{ type: 'output_text', text: part.text, annotations: [] }];
    return { type: 'message', id: `msg_${index}`, role: 'assistant', status: 'completed', content };
  }
  if ('reasoning' in part) {
    return {
      type: 'reasoning',
      id: `rs_${index}`,
      summary: [{ type: 'summary_text', text: part.reasoning }],
      encrypted_content: part.signature ?? null,
    };
  }
  if ('image' in part) {
    const status = 'completed';
    return { type: 'image_generation_call', id: `ig_${index}`, status, result: part.image };
  }
  if (!('call' in part)) throw cannotSay('openai-responses', part);
  return {
    type: 'function_call',
    id: `fc_${index}`,
    call_id: part.call.id ?? `call_${index}`,
    name: part.call.name,
    arguments: toArguments(part.call),
    status: 'completed',
  };
}

function itemEvents(part: FakePart, output_index: number): Item[] {
  const item = toItem(part, output_index);
  const at = { item_id: item.id, output_index };
  return [
    { type: 'response.output_item.added', output_index, item: { ...item, ...opening(item) } },
    ...contentEvents(part, at),
    { type: 'response.output_item.done', output_index, item },
  ];
}

/** An item as it is announced, before it has content. */
function opening({ type }: Item): Item {
  const status = 'in_progress';
  if (type === 'message') return { content: [], status };
  if (type === 'function_call') return { arguments: '', status };
  return type === 'reasoning' ? { summary: [] } : { result: null, status };
}

function contentEvents(part: FakePart, at: Item): Item[] {
  if ('text' in part) {
    const where = { ...at, content_index: 0 };
    return fragments(part.text).map((delta) => ({
      type: 'response.output_text.delta',
      ...where,
      delta,
    }));
  }
  if ('call' in part) {
    return fragments(toArguments(part.call)).map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...at,
      delta,
    }));
  }
  return 'reasoning' in part ? summaryEvents(part.reasoning, { ...at, summary_index: 0 }) : [];
}

function summaryEvents(reasoning: string, at: Item): Item[] {
  return [
    { type: 'response.reasoning_summary_part.added', ...at },
    ...fragments(reasoning).map((delta) => ({
      type: 'response.reasoning_summary_text.delta',
      ...at,
      delta,
    })),
    { type: 'response.reasoning_summary_part.done', ...at },
  ];
}

function toEvent(event: Item, sequence_number: number): FakeSseEvent {
  return { event: text(event.type), data: { ...event, sequence_number } };
}
