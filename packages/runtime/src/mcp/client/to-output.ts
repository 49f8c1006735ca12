// The result of an MCP tool as what the core understands. All of it is foreign text.

import {
  ERROR_META_KEY,
  FabricError,
  type Fields,
  fromErrorPayload,
  fromErrorText,
  isObject,
  toFields,
} from '@starloom/core';
import type { ContentSegment } from '@starloom/sdk';

const MAX_FAILURE = 8_192;

/** Throws when the tool says that it failed, or asks instead of answering. */
export function toOutput(server: string, result: Fields): ContentSegment[] {
  const { resultType = 'complete', isError, content, structuredContent } = result;
  if (resultType !== 'complete') throw unsupported(server);
  const segments = Array.isArray(content) ? content.filter(isObject).map(toSegment) : [];
  if (isError === true) throw toolFailure(server, result, segments);
  if (segments.length > 0 || structuredContent === undefined) return segments;
  return [{ type: 'text', text: JSON.stringify(structuredContent, null, 2) }];
}

function toSegment(block: Fields): ContentSegment {
  const { type, text, data, mimeType } = block;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if ((type === 'image' || type === 'audio') && typeof data === 'string') {
    return { type, data, ...(typeof mimeType === 'string' && { mimeType }) };
  }
  if (type === 'resource') return { type: 'text', text: resourceText(toFields(block.resource)) };
  if (type === 'resource_link') {
    return { type: 'text', text: `(resource ${block.name}: ${block.uri})` };
  }
  return { type: 'text', text: JSON.stringify(block) };
}

function resourceText({ uri, text, mimeType = 'binary' }: Readonly<Fields>): string {
  return typeof text === 'string' ? `${uri}\n\n${text}` : `(${mimeType} resource ${uri})`;
}

/** A failure of another Starloom keeps its code; of any other server only the text is known. */
function toolFailure(
  server: string,
  { _meta }: Fields,
  segments: readonly ContentSegment[],
): FabricError {
  const words = segments.flatMap(({ text }) => text ?? []);
  const ours = fromErrorPayload(toFields(_meta)[ERROR_META_KEY]) ?? fromErrorText(words[0] ?? '');
  if (ours) return ours.with({ server });
  const text = words.join('\n').slice(0, MAX_FAILURE);
  return new FabricError('UPSTREAM_ERROR', text || 'The tool failed and did not say why', {
    details: { reason: 'tool_error', server },
  });
}

function unsupported(server: string): FabricError {
  return new FabricError('UPSTREAM_ERROR', `The MCP server "${server}" asks for more input`, {
    details: {
      reason: 'unsupported_result',
      server,
      fix: 'give the tool all it needs as arguments',
    },
  });
}
