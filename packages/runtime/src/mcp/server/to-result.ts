// Outcomes and events of the agent in the words of MCP, by the contract of capability tools: content as it is,
// ours in `_meta` alone.

import type { CallToolResult, ContentBlock, ServerContext } from '@modelcontextprotocol/server';
import { type EventBody, EventStamper, systemClock, type Trace } from '@starloom/core';
import { META_CALL, RisingProgress, toProgress } from '@starloom/mcp-client/server';
import type { ContentSegment } from '@starloom/sdk';
import type { AgentEvent } from '../../core/event-bus.ts';
import { parseMedia } from '../../core/media.ts';

export function toResult(
  segments: readonly ContentSegment[],
  call: { readonly agent_id: string; readonly trace: Trace; readonly [key: string]: unknown },
): CallToolResult {
  return { content: segments.flatMap(toBlocks), _meta: { [META_CALL]: call } };
}

/** What the agent thought, and which tools it used, is not part of its answer. */
export function toBlocks(segment: ContentSegment): ContentBlock[] {
  const { type, text = '' } = segment;
  switch (type) {
    case 'text':
      return [{ type: 'text', text }];
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return [toMedia(type, segment)];
    case 'ui':
      return [{ type: 'text', text: JSON.stringify(segment.ui) }];
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return [];
  }
}

function toMedia(
  type: 'image' | 'audio' | 'video' | 'file',
  segment: ContentSegment,
): ContentBlock {
  const media = parseMedia(segment);
  const { mimeType } = media;
  const { name = type } = segment;
  if (media.kind === 'url') return { type: 'resource_link', uri: media.url, name, mimeType };
  if (type === 'image' || type === 'audio') return { type, data: media.base64, mimeType };
  const uri = `agent:${encodeURIComponent(name)}`;
  return { type: 'resource', resource: { uri, blob: media.base64, mimeType } };
}

/**
 * Tells the client what happens while it waits, if it asked for that: the answer as it comes, and how
 * far a tool is. Which tools an agent uses to find its answer stays its own affair.
 */
export function progressOf(
  { mcpReq }: ServerContext,
  agentId: string,
  trace: Trace,
): (event: AgentEvent) => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  const stamper = new EventStamper(trace, systemClock.now);
  const rising = new RisingProgress();
  return (event) => {
    const body = toBody(event);
    if (!body) return;
    const notification = toProgress(stamper.stamp(body, agentId), progressToken, rising);
    mcpReq.notify(notification).catch(() => {});
  };
}

export function toBody(event: AgentEvent): EventBody | undefined {
  switch (event.type) {
    case 'STREAM:TEXT':
      return { type: 'token', data: { text: event.data.text } };
    case 'STREAM:DISCARD':
      return { type: 'status', data: { state: 'discard' } };
    case 'STREAM:PROGRESS': {
      const { message, percent } = event.data;
      return { type: 'progress', data: { message, ...(percent !== undefined && { percent }) } };
    }
    default:
      return undefined;
  }
}
