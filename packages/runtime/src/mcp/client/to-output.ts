// The result of an MCP tool as what the core understands. All of it is foreign text.

import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { ERROR_META_KEY, FabricError, fromErrorPayload, fromErrorText } from '@starloom/core';
import type { ContentSegment } from '@starloom/sdk';

const MAX_FAILURE = 8_192;

/** Throws when the tool says that it failed. */
export function toOutput(server: string, result: CallToolResult): ContentSegment[] {
  const segments = (result.content ?? []).map(toSegment);
  if (result.isError) throw toolFailure(server, result, segments);
  if (segments.length > 0 || result.structuredContent === undefined) return segments;
  return [{ type: 'text', text: JSON.stringify(result.structuredContent, null, 2) }];
}

function toSegment(block: ContentBlock): ContentSegment {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
    case 'audio':
      return { type: block.type, data: block.data, mimeType: block.mimeType };
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return { type: 'text', text: `${resource.uri}\n\n${resource.text}` };
      return { type: 'text', text: `(${resource.mimeType ?? 'binary'} resource ${resource.uri})` };
    }
    case 'resource_link':
      return { type: 'text', text: `(resource ${block.name}: ${block.uri})` };
    default:
      return { type: 'text', text: JSON.stringify(block) };
  }
}

/** A failure of another Starloom keeps its code; of any other server only the text is known. */
function toolFailure(
  server: string,
  { _meta }: CallToolResult,
  segments: readonly ContentSegment[],
): FabricError {
  const words = segments.flatMap(({ text }) => text ?? []);
  const ours = fromErrorPayload(_meta?.[ERROR_META_KEY]) ?? fromErrorText(words[0] ?? '');
  if (ours) return ours.with({ server });
  const text = words.join('\n').slice(0, MAX_FAILURE);
  return new FabricError('UPSTREAM_ERROR', text || 'The tool failed and did not say why', {
    details: { reason: 'tool_error', server },
  });
}
