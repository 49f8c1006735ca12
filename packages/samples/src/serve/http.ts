// The http contract: POST an envelope, and the answer is a stream of events or, when none was asked
// for, one JSON document. Closing the connection cancels the work.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { EventStamper, FabricError, ResultFold, type Trace } from '@starloom/core';
import { BoundedBody, createSseWriter, SSE_HEADERS } from '@starloom/wire';
import { runAgent, type SampleAgent } from '../agent.ts';
import { parseCall, toFailure } from './call.ts';
import { serveLoopback } from './loopback.ts';

const MAX_BODY_BYTES = 8_388_608;

export async function serveHttp<Input>(agent: SampleAgent<Input>, port: number): Promise<void> {
  const path = `/${agent.id}`;
  await serveLoopback(port, path, async (request, response) => {
    if (request.url === `${path}/health`) return sendJson(response, 200, { status: 'online' });
    if (request.url !== path) return sendJson(response, 404, { error: `try ${path}` });
    if (request.method !== 'POST') return sendJson(response, 405, { error: 'POST an envelope' });
    await answer(agent, request, response);
  });
}

async function answer<Input>(
  agent: SampleAgent<Input>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  let trace: Trace | null = null;
  try {
    const call = parseCall(await readJson(request), agent.capability);
    trace = call.trace;
    const events = runAgent(agent, call.input, left.signal);
    if (call.stream) return await sendEvents(events, agent.id, call.trace, response);
    const fold = new ResultFold();
    for await (const body of events) fold.add(body);
    sendJson(response, 200, fold.result() ?? {});
  } catch (error) {
    const failure = toFailure(error);
    sendJson(response, failure.row.http, failure.toPayload(trace));
  }
}

async function sendEvents(
  events: ReturnType<typeof runAgent>,
  agentId: string,
  trace: Trace,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(200, SSE_HEADERS);
  await using stream = createSseWriter(response);
  const stamper = new EventStamper(trace, Date.now);
  try {
    for await (const body of events) {
      const event = stamper.stamp(body, agentId);
      await stream.send({ event: event.type, data: JSON.stringify(event) });
    }
  } catch (thrown) {
    if (response.closed) return;
    const { error } = toFailure(thrown).toPayload(trace);
    await stream.send({ event: 'error', data: JSON.stringify({ type: 'error', error }) });
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** The body as JSON, or BAD_INPUT. Other content types are refused: a web page can send those. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  if (!request.headers['content-type']?.startsWith('application/json')) {
    throw badBody('content_type', 'send application/json');
  }
  const body = new BoundedBody(MAX_BODY_BYTES);
  // The connection outlives a body that is refused, so that the refusal arrives.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!body.push(chunk)) throw badBody('too_large', `send at most ${MAX_BODY_BYTES} bytes`);
  }
  try {
    return JSON.parse(body.toBuffer().toString('utf8'));
  } catch {
    throw badBody('invalid_json', 'send one JSON document');
  }
}

function badBody(reason: string, fix: string): FabricError {
  return new FabricError('BAD_INPUT', 'The body cannot be used', { details: { reason, fix } });
}
