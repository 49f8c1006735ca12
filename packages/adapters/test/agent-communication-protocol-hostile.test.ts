import type { ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { eventually, runCall } from './fixtures/agent-world.ts';
import { hostileHttpAgent } from './fixtures/hostile-http.ts';
import { openRunAdapter, openRuns } from './fixtures/open-runs.ts';

const RUN_ID = '6f1f3a52-6a51-4b5e-9d0c-1d5f0e3c7a11';
const OTHER_ID = '00000000-6a51-4b5e-9d0c-1d5f0e3c7a11';

function run(status: string, more: object = {}) {
  return { run_id: RUN_ID, agent_name: 'work', session_id: 's', status, output: [], ...more };
}

function output(content: string) {
  return { output: [{ role: 'agent', parts: [{ content_type: 'text/plain', content }] }] };
}

const completed = (content = 'fine') => event('completed', output(content));
const event = (status: string, more: object = {}) => ({
  type: `run.${status}`,
  run: run(status, more),
});
const part = (content: string, more: object = {}) => ({
  type: 'message.part',
  part: { content_type: 'text/plain', content, ...more },
});

hostileHttpAgent('agent-communication-protocol', {
  open: (uri, bytes) =>
    openRunAdapter(uri, { options: { max_result_bytes: bytes, max_stream_bytes: bytes } }),
  serve: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'run-id': RUN_ID });
    response.end(JSON.stringify(run('completed', output('fine'))));
  },
});

/** A server whose stream is `events`; any other request it answers as a well-behaved one would. */
async function streams(events: readonly unknown[], then?: (response: ServerResponse) => void) {
  const answered = { cancels: 0 };
  const world = await openRuns(async () => {}, {
    options: { max_result_bytes: 100_000, max_stream_bytes: 400_000 },
    instead: (request, response) => {
      if (request.url?.endsWith('/cancel')) answered.cancels += 1;
      if (request.method !== 'POST' || request.url !== '/runs') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const each of events) {
        const data = typeof each === 'string' ? each : JSON.stringify(each);
        response.write(`data: ${data}\n\n`);
      }
      if (then) then(response);
      else response.end();
      return true;
    },
  });
  return { ...world, answered };
}

describe('a stream of a run', () => {
  it('ends with the first end: what follows is dropped', async () => {
    const { adapter, answered } = await streams([
      event('created'),
      completed('first'),
      completed('second'),
      event('failed', { error: { code: 'server_error', message: 'late' } }),
      'garbage',
    ]);
    const { events, answer } = await runCall(adapter);
    expect(answer).toBe('first');
    expect(events.filter(({ type }) => type === 'final')).toHaveLength(1);
    expect(answered.cancels).toBe(0);
  });

  it('is cut off when it keeps sending after its end', async () => {
    const { adapter } = await streams([completed()], (response) => {
      const write = (error?: Error | null) => {
        if (!error && !response.destroyed) response.write(`data: ${'x'.repeat(50_000)}\n\n`, write);
      };
      write();
    });
    expect((await runCall(adapter)).answer).toBe('fine');
  });

  it.each([
    [
      'another run',
      [event('created'), { type: 'run.completed', run: { ...run('completed'), run_id: OTHER_ID } }],
      'wrong_run',
    ],
    ['a run without an id', [{ type: 'run.created', run: { status: 'created' } }], 'bad_event'],
    [
      'an id that is a path',
      [{ type: 'run.created', run: { ...run('created'), run_id: '../agents' } }],
      'bad_event',
    ],
    [
      'a state that does not exist',
      [event('created'), { type: 'run.completed', run: run('done') }],
      'bad_event',
    ],
    [
      'a part without a form',
      [event('created'), { type: 'message.part', part: { content: 7 } }],
      'bad_event',
    ],
    [
      'an artifact that is not base64',
      [event('created'), part('%%%', { name: 'a', content_encoding: 'base64' })],
      'bad_event',
    ],
    ['an event that is no object', [event('created'), '7'], 'bad_event'],
    ['no JSON', [event('created'), '{"type":'], 'invalid_json'],
    ['nothing at all', [], 'no_final'],
    [
      'an error of the server',
      [event('created'), { type: 'error', error: { code: 'server_error', message: 'm' } }],
      'server_error',
    ],
    [
      'an error of input',
      [{ type: 'error', error: { code: 'invalid_input', message: 'm' } }],
      'tool_error',
    ],
  ] as const)('with %s is UPSTREAM_ERROR', async (_, events, reason) => {
    const { adapter, answered } = await streams(events);
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason } });
    const isKnown = events.length > 1;
    await expect.poll(() => answered.cancels, eventually).toBe(isKnown ? 1 : 0);
  });

  it('with a failed run is the answer of the agent, without our credentials', async () => {
    const failed = event('failed', {
      error: { code: 'server_error', message: 'key sk-1234567890 \u001b[31mbad' },
    });
    const world = await openRuns(async () => {}, {
      headers: { authorization: 'Bearer sk-1234567890' },
      instead: ({ method }, response) => {
        if (method !== 'POST') return false;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`data: ${JSON.stringify(failed)}\n\n`);
        return true;
      },
    });
    const { error } = await runCall(world.adapter);
    expect(error?.isAgentAnswer).toBe(true);
    expect(error?.details.upstream).toEqual({
      code: 'server_error',
      message: 'key [redacted] bad',
    });
  });

  it('with a run that was cancelled elsewhere is an answer too', async () => {
    const { adapter } = await streams([event('created'), event('cancelled')]);
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({
      details: { reason: 'tool_error', upstream: { status: 'cancelled' } },
    });
  });

  it.each([
    [
      'of events without end',
      (response: ServerResponse) => floodEvents(response),
      'stream_too_large',
    ],
    [
      'with an event without end',
      (response: ServerResponse) => floodText(response),
      'event_too_large',
    ],
  ])('%s is cut, and its run is cancelled', async (_, then, reason) => {
    const { adapter, answered } = await streams([event('created')], then);
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason } });
    await expect.poll(() => answered.cancels, eventually).toBe(1);
  });

  it('passes over events that it does not know', async () => {
    const { adapter } = await streams([
      event('created'),
      { type: 'run.dancing', x: 1 },
      completed(),
    ]);
    expect((await runCall(adapter)).answer).toBe('fine');
  });

  it('that points elsewhere is not followed', async () => {
    const fetched = vi.fn();
    const elsewhere = await openRuns(async () => {}, { instead: () => void fetched() });
    const content_url = `${elsewhere.server.uri}/secret`;
    const { adapter } = await streams([
      event('created'),
      part('', { content: null, content_url, name: 'page', content_type: 'text/html' }),
      completed(),
    ]);
    const { events } = await runCall(adapter);
    expect(events[0]).toEqual({
      type: 'artifact',
      data: { id: 'page', name: 'page', media_type: 'text/html', uri: content_url },
    });
    expect(fetched).not.toHaveBeenCalled();
  });
});

function floodEvents(response: ServerResponse): void {
  write(response, `data: ${JSON.stringify(part('x'.repeat(1_000)))}\n\n`);
}

function floodText(response: ServerResponse): void {
  write(response, 'x'.repeat(10_000));
}

function write(response: ServerResponse, chunk: string): void {
  const next = () => {
    if (response.destroyed) return;
    if (response.write(chunk)) setImmediate(next);
    else response.once('drain', next);
  };
  next();
}
