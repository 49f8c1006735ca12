// Outcomes of the agent as MCP results, by the contract of capability tools: content as it is, ours in
// `_meta` alone; a failure is the one payload, as text and in `_meta`.

import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { ERROR_META_KEY, type FabricError, type Trace } from '@starloom/core';
import type { ContentSegment } from '@starloom/sdk';

const CALL_KEY = 'io.starloom/call';

export function toResult(
  segments: readonly ContentSegment[],
  call: { readonly agent_id: string; readonly trace: Trace; readonly [key: string]: unknown },
): CallToolResult {
  return { content: segments.flatMap(toBlocks), _meta: { [CALL_KEY]: call } };
}

export function toErrorResult(error: FabricError, trace: Trace): CallToolResult {
  const payload = error.toPayload(trace);
  return {
    isError: true,
    content: [{ type: 'text', text: JSON.stringify(payload) }],
    _meta: { [ERROR_META_KEY]: payload },
  };
}

/** What the agent thought, and which tools it used, is not part of its answer. */
function toBlocks(segment: ContentSegment): ContentBlock[] {
  const { type, text = '', data = '', mimeType } = segment;
  switch (type) {
    case 'text':
      return [{ type: 'text', text }];
    case 'image':
    case 'audio':
    case 'video':
      return [toMedia(type, data, mimeType ?? `${type}/*`)];
    case 'ui':
      return [{ type: 'text', text: JSON.stringify(segment.ui) }];
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return [];
  }
}

function toMedia(type: 'image' | 'audio' | 'video', data: string, mimeType: string): ContentBlock {
  if (/^https?:/.test(data)) return { type: 'resource_link', uri: data, name: type, mimeType };
  const [, inner, base64 = data] = /^data:([^;,]+);base64,(.*)$/s.exec(data) ?? [];
  if (type !== 'video') return { type, data: base64, mimeType: inner ?? mimeType };
  const resource = { uri: 'agent:video', blob: base64, mimeType: inner ?? mimeType };
  return { type: 'resource', resource };
}
