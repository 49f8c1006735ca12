import { randomUUID } from 'node:crypto';
import { type Fields, isObject } from '@starloom/core';
import type { ContentSegment } from '@starloom/sdk';
import { toMediaSegment } from '../../core/media.ts';
import { parseArguments, textOf } from '../json.ts';
import type { ToolNames } from '../tool-names.ts';
import { metadataOf } from './language-model.ts';

/** A part that is whole, as a segment; `undefined` for kinds we have no use for. */
export function toSegment(part: Readonly<Fields>, names: ToolNames): ContentSegment | undefined {
  const segment = convert(part, names);
  const providerMetadata = metadataOf(part);
  return segment && providerMetadata ? { ...segment, providerMetadata } : segment;
}

function convert(part: Readonly<Fields>, names: ToolNames): ContentSegment | undefined {
  switch (part.type) {
    case 'tool-call':
      // What the service ran itself is not ours to run; its result follows.
      return part.providerExecuted === true ? undefined : toToolCall(part, names);
    case 'tool-result':
      return toToolResult(part, names);
    case 'file':
      return toFile(part);
    default:
      return undefined;
  }
}

function toToolCall(
  { toolCallId, toolName, input }: Readonly<Fields>,
  names: ToolNames,
): ContentSegment {
  const id = textOf(toolCallId) ?? '';
  const name = names.fromWire(textOf(toolName) ?? '');
  const args = typeof input === 'string' ? parseArguments(input) : input;
  return { type: 'tool_call', toolCall: { id: id === '' ? randomUUID() : id, name, args } };
}

function toToolResult(part: Readonly<Fields>, names: ToolNames): ContentSegment | undefined {
  if (part.preliminary === true) return undefined;
  const name = names.fromWire(textOf(part.toolName) ?? '');
  const picture = isObject(part.result) ? textOf(part.result.result) : undefined;
  if (name === 'image_generation' && picture !== undefined) {
    return { type: 'image', data: picture, mimeType: 'image/png' };
  }
  const text = typeof part.result === 'string' ? part.result : JSON.stringify(part.result);
  const toolResult = {
    id: textOf(part.toolCallId) ?? '',
    name,
    output: [{ type: 'text' as const, text }],
    ...(part.isError === true && { isError: true }),
  };
  return { type: 'tool_result', toolResult };
}

/** https://a2ui.org: components for a front end to render. */
const UI_TYPE = /^application\/(json\+a2ui|a2ui\+json)$/;

function toFile({ mediaType, data }: Readonly<Fields>): ContentSegment {
  const type = textOf(mediaType) ?? '';
  const content = toContent(data);
  if (UI_TYPE.test(type)) {
    const text = Buffer.from(content, 'base64').toString('utf8');
    return { type: 'ui', ui: parseArguments(text) };
  }
  return toMediaSegment(type, content) ?? { type: 'text', text: `[file of type ${type}]` };
}

/** Base64 or a URL, out of either interface version. */
function toContent(data: unknown): string {
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64');
  if (data instanceof URL) return data.href;
  if (isObject(data)) return toContent(data.type === 'url' ? data.url : data.data);
  return textOf(data) ?? '';
}
