// A prompt in the shape of chat completions. Content that is text alone goes as a string, since
// many servers take nothing else.

import { type Fields, toFields } from '@starloom/core';
import type { ContentSegment, ITool } from '@starloom/sdk';
import { parseMedia } from '../../core/media.ts';
import { isMedia, type Prompt, type PromptMessage, type PromptResult } from '../to-prompt.ts';
import type { ToolNames } from '../tool-names.ts';

interface ChatRequestOptions {
  readonly model: string;
  readonly stream: boolean;
  readonly temperature?: number | undefined;
  readonly max_tokens?: number | undefined;
}

export function toChatRequest(
  { system, messages }: Prompt,
  tools: Iterable<ITool>,
  names: ToolNames,
  { stream, ...options }: ChatRequestOptions,
): object {
  const offered = Array.from(tools, ({ name, description, parameters }) => ({
    type: 'function',
    function: { name: names.toWire(name), description, parameters },
  }));
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  return {
    ...options,
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      ...messages.flatMap((message, index) => toChatMessages(message, names, index > lastUser)),
    ],
    ...(offered.length > 0 && { tools: offered }),
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
  };
}

function toChatMessages(message: PromptMessage, names: ToolNames, isCurrent: boolean): object[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: toContent(message.segments) }];
    case 'assistant':
      return [toAssistant(message.segments, names, isCurrent)];
    case 'tool':
      return message.results.map(toResult);
  }
}

function toResult({ id, text, isError }: PromptResult): object {
  return { role: 'tool', tool_call_id: id, content: isError ? `Error: ${text}` : text };
}

function toContent(segments: readonly ContentSegment[]): unknown {
  if (segments.some(isMedia)) return segments.map(toPart);
  return segments.map(({ text = '' }) => text).join('\n\n');
}

function toPart(segment: ContentSegment): object {
  const { type, text = '' } = segment;
  if (!isMedia(segment)) return { type: 'text', text };
  const media = parseMedia(segment);
  const url = media.kind === 'url' ? media.url : `data:${media.mimeType};base64,${media.base64}`;
  if (type === 'image') return { type: 'image_url', image_url: { url } };
  if (type === 'video') return { type: 'video_url', video_url: { url } };
  if (media.kind === 'url') return { type: 'text', text: `[audio: ${media.url}]` };
  return {
    type: 'input_audio',
    input_audio: { data: media.base64, format: formatOf(media.mimeType) },
  };
}

function formatOf(mimeType: string): string {
  const [, format = 'wav'] = mimeType.split('/');
  return format === 'mpeg' ? 'mp3' : format.replace(/^x-/, '');
}

/**
 * Reasoning goes back only within the turn it belongs to: that is where services want it, and some
 * refuse it anywhere else.
 */
function toAssistant(
  segments: readonly ContentSegment[],
  names: ToolNames,
  isCurrent: boolean,
): object {
  const content = segments.map(toSpoken).join('');
  const calls = segments.flatMap((segment) => toCall(segment, names));
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(isCurrent ? toReasoning(segments) : {}),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** A picture of the assistant's own has no place in this API. */
function toSpoken({ type, text = '', mimeType = type }: ContentSegment): string {
  if (type === 'text') return text;
  return type === 'reasoning' || type === 'tool_call' ? '' : `[${mimeType}]`;
}

function toReasoning(segments: readonly ContentSegment[]): object {
  const thoughts = segments.filter(({ type }) => type === 'reasoning');
  const fields = thoughts.map((thought) => metadataOf(thought).field);
  const field = fields.find((name) => typeof name === 'string');
  return field === undefined ? {} : { [field]: thoughts.map(({ text = '' }) => text).join('') };
}

function toCall(segment: ContentSegment, names: ToolNames): object[] {
  const { type, toolCall } = segment;
  if (type !== 'tool_call' || toolCall === undefined) return [];
  const { id, name, args } = toolCall;
  const { extra_content } = metadataOf(segment);
  return [
    {
      id,
      type: 'function',
      function: { name: names.toWire(name), arguments: JSON.stringify(args) },
      ...(extra_content !== undefined && { extra_content }),
    },
  ];
}

function metadataOf({ providerMetadata }: ContentSegment): Readonly<Fields> {
  return toFields(providerMetadata?.[METADATA_KEY]);
}

/** Under this key stands what a chat service wants back as it was. */
export const METADATA_KEY = 'openai-compatible';
