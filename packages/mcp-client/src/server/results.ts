// What our MCP servers, the gateway and agents, say of a call in the words of MCP: its events as notifications of
// progress, its failure as a result.

import { type Counted, ERROR_META_KEY, type ErrorPayload, type FabricEvent } from '@starloom/core';

/** Which agent answered a call, and how. */
export const META_CALL = 'io.starloom/call';
const META_EVENT = 'io.starloom/event';
const META_CURSOR = 'io.starloom/cursor';

/** A failure of ours: the payload as text for models, and in `_meta` for programs. */
export function toFailedResult(payload: ErrorPayload) {
  return {
    isError: true,
    content: [{ type: 'text' as const, text: JSON.stringify(payload) }],
    _meta: { [ERROR_META_KEY]: payload },
  };
}

/** Where an event stands beside its own number. */
export interface EventPlace {
  /** In a stream that outlives the connection. */
  readonly cursor?: number | undefined;
  /** How an MCP agent counts its progress, where the event is that. */
  readonly counted?: Counted | undefined;
}

/** An event as MCP carries it. */
export function toProgress(
  event: FabricEvent,
  progressToken: string | number,
  rising: RisingProgress,
  { cursor, counted }: EventPlace = {},
) {
  const message = messageOf(event);
  return {
    method: 'notifications/progress',
    params: {
      progressToken,
      ...nextProgress(rising, counted),
      ...(message !== undefined && { message }),
      _meta: { [META_EVENT]: event, ...(cursor !== undefined && { [META_CURSOR]: cursor }) },
    },
  };
}

/** Small beside any count of an agent, and a power of two, so that sums of it are exact. */
const STEP = 2 ** -20;
const SMALLEST_SHARE = 2 ** -48;

/** Where the progress of one request stands; it begins at 0. */
export interface RisingProgress {
  last: number;
}

/**
 * What `progress` says next over one request, where it must rise. What an agent counts stays as it is
 * while it rises; anything else is slightly above the last one, of no total.
 */
export function nextProgress(rising: RisingProgress, counted?: Counted): Counted {
  if (counted && counted.progress > rising.last) {
    rising.last = counted.progress;
    return counted;
  }
  rising.last += Math.max(STEP, rising.last * SMALLEST_SHARE);
  return { progress: rising.last };
}

function messageOf({ type, data }: FabricEvent): string | undefined {
  switch (type) {
    case 'token':
      return data.text;
    case 'status':
      return data.message ?? data.state;
    case 'progress':
      return data.message;
    case 'tool_call':
      return `${data.name} ${data.phase === 'start' ? 'called' : 'answered'}`;
    case 'artifact':
      return data.name ?? data.id;
    default:
      return undefined;
  }
}
