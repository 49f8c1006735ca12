import type { ServerContext } from '@modelcontextprotocol/server';
import { type EventBody, EventStamper, systemClock, type Trace } from '@starloom/core';
import type { AgentEvent } from '../../core/events.ts';

const EVENT_KEY = 'io.starloom/event';

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
  return (event) => {
    const body = toBody(event);
    if (!body) return;
    const stamped = stamper.stamp(body, agentId);
    const message = messageOf(body);
    const params = {
      progressToken,
      progress: stamped.seq,
      ...(message !== undefined && { message }),
      _meta: { [EVENT_KEY]: stamped },
    };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

function toBody(event: AgentEvent): EventBody | undefined {
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

function messageOf(body: EventBody): string | undefined {
  if (body.type === 'token') return body.data.text;
  return body.type === 'progress' ? body.data.message : undefined;
}
