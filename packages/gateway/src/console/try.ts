// Calls from the page. They are `fabric.call` like those of any client; what streams comes as lines.

import type { TryLine } from '@starloom/console/api-types';
import { createTrace, FabricError, type FabricEvent, META } from '@starloom/core';
import { writeNdjson } from '@starloom/wire';
import { z } from 'zod';
import { type ConsoleRequest, type Handlers, parse, useTool } from './request.ts';

export const STREAM_HEADERS = {
  'content-type': 'application/x-ndjson; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-content-type-options': 'nosniff',
  'x-accel-buffering': 'no',
} as const;

/** The tool itself checks what is in it. */
const callSchema = z.looseObject({});

export const tryHandlers: Handlers = {
  'POST try': call,
};

async function call(request: ConsoleRequest): Promise<undefined> {
  const { response } = request.exchange;
  const asked = parse(callSchema, request.body, 'the call');
  const { trace_id } = createTrace();
  const { signal } = request;
  const write = (line: TryLine) => writeNdjson(response, line, { signal });
  const send = async (event: FabricEvent) => {
    const { trace: _, ...shown } = event;
    await write({ type: 'event', event: shown as Extract<TryLine, { type: 'event' }>['event'] });
  };
  response.writeHead(200, STREAM_HEADERS);
  await write({ type: 'started', trace_id });
  try {
    const meta = { [META.trace]: trace_id };
    const result = await useTool(
      request,
      'fabric.call',
      { stream: true, ...asked },
      { send, meta },
    );
    await write({ type: 'result', result: result as never });
  } catch (thrown) {
    if (signal.aborted) return undefined;
    await write(toLast(FabricError.from(thrown), trace_id));
  }
  response.end();
  return undefined;
}

/** A question is not a failure: the page answers it. */
function toLast(error: FabricError, trace_id: string): TryLine {
  const { inputs, conversation_id } = error.details;
  if (error.code === 'INPUT_REQUIRED' && typeof conversation_id === 'string') {
    return { type: 'asks', conversation_id, inputs: inputs as never };
  }
  return { type: 'error', error: error.toPayload(null).error, trace_id };
}
