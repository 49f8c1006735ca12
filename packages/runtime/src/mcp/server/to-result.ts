// Outcomes and events of the agent in the words of MCP, by the contract of capability tools: content as it is,
// ours in `_meta` alone.

import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { type EventBody, EventStamper, systemClock, type Trace } from '@starloom/core';
import { META_CALL, toProgress } from '@starloom/mcp-client/server';
import type { ContentSegment } from '@starloom/sdk';
import type { AgentEvent } from '../../core/event-bus.ts';
import { toBlocks } from '../../core/media.ts';

export function toResult(
  segments: readonly ContentSegment[],
  call: { readonly agent_id: string; readonly trace: Trace; readonly [key: string]: unknown },
): CallToolResult {
  return { content: segments.flatMap(toBlocks), _meta: { [META_CALL]: call } };
}

/**
 * Notifies the client of what happens while it waits, if it asked for that: the answer as it comes, and how
 * far a tool is. It does not say which tools the agent uses.
 */
export function progressOf(
  { mcpReq }: ServerContext,
  agentId: string,
  trace: Trace,
): (event: AgentEvent) => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  const stamper = new EventStamper(trace, systemClock.now);
  const rising = { last: 0 };
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
