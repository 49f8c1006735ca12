import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type AgentHandle, type EnvelopeInput, FabricError, silentLog } from '@starloom/core';
import { adapterContract, exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { abortWhen, eventually, runCall } from './fixtures/agent-world.ts';
import { hostileHttpAgent } from './fixtures/hostile-http.ts';
import { openHttpAdapter, serveHttp } from './fixtures/http-world.ts';
import { json, startTemplateServer, templateOptions } from './fixtures/template-server.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const STREAMS = { attachments: true };
const DOCUMENTS = { tokens: false, toolCalls: false, progress: false, artifacts: false };

describe('[G21][G26] an agent that its manifest describes', () => {
  for (const [form, has] of [
    ['sse', STREAMS],
    ['ndjson', STREAMS],
    ['json', DOCUMENTS],
    ['jobs', { ...DOCUMENTS, progress: true }],
  ] as const) {
    adapterContract(
      `http, template, ${form}`,
      async () => {
        const server = await startTemplateServer();
        return {
          adapter: openHttpAdapter(server.uri, { options: templateOptions(form) }),
          stopAgent: () => server.stop(),
          close: () => server.stop(),
        };
      },
      has,
    );
  }
});

hostileHttpAgent('http, template', {
  open: (uri, bytes) =>
    openHttpAdapter(uri, {
      options: { ...templateOptions('json'), max_result_bytes: bytes, max_stream_bytes: bytes },
    }),
  serve: (_request, response) => json(response, { answer: 'fine' }),
});

/** What the agent gets for `input` by these options, or the error. */
async function sent(request: object, input: EnvelopeInput['input'], handle: AgentHandle = {}) {
  const seen: { request: IncomingMessage; body: string }[] = [];
  const { adapter } = await serveHttp(
    async (incoming, response) => {
      seen.push({ request: incoming, body: await text(incoming) });
      json(response, 'yes');
    },
    { options: { profile: 'template', request }, path: '/base/' },
  );
  const calls = adapter.call(exampleEnvelope('', { input }), { ...CONTEXT, handle });
  const error = await Array.fromAsync(calls).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const [first] = seen;
  return { url: first?.request.url, headers: first?.request.headers, body: first?.body, error };
}

describe('[G26] a request by a template', () => {
  it('has each value whole in its place, with its type', async () => {
    const request = {
      method: 'PUT',
      path: ['cities', { $from: '/arguments/city' }],
      query: { days: { $from: '/arguments/days' }, tag: { $from: '/arguments/tags' }, fixed: 1 },
      headers: { 'X-Unit': { $from: '/arguments/unit' } },
      body: {
        list: [{ $from: '/arguments/days' }, { $from: '/arguments/none' }, 'text'],
        all: { $from: '/arguments' },
        none: { $from: '/arguments/none' },
        language: { $from: '/arguments/language', $default: 'en' },
        literal: { $literal: { $from: 1 } },
      },
    };
    const given = { city: 'São Paulo/SP', days: 3, tags: ['a&b', 'c'], unit: 'C', $from: '/task' };
    const { url, headers, body, error } = await sent(request, { arguments: given });
    expect(error).toBeUndefined();
    expect(url).toBe('/base/cities/S%C3%A3o%20Paulo%2FSP?days=3&tag=a%26b&tag=c&fixed=1');
    expect(headers).toMatchObject({ 'x-unit': 'C', 'x-openstarry-depth': '1' });
    expect(JSON.parse(body ?? '')).toEqual({
      list: [3, 'text'],
      all: given,
      language: 'en',
      literal: { $from: 1 },
    });
  });

  it('never takes what a caller gave for a place', async () => {
    const request = { body: { text: { $from: '/task' }, more: { $from: '/arguments/more' } } };
    const more = { $from: '/trace/trace_id', $literal: 2 };
    const { body } = await sent(request, { task: '{"$from": "/context"}', arguments: { more } });
    expect(JSON.parse(body ?? '')).toEqual({ text: '{"$from": "/context"}', more });
  });

  it('goes on with what was kept', async () => {
    const request = { body: { thread: { $from: '/conversation/thread_id' } } };
    expect((await sent(request, {}, { thread_id: 't1' })).body).toBe('{"thread":"t1"}');
    expect((await sent(request, {})).body).toBe('{}');
  });

  it.each(['..', '', '../admin', '%2e%2e%2fadmin', '..;/x', 'a\r\nb', 'a\0'])(
    'has no segment that leads elsewhere: %j',
    async (city) => {
      const request = { path: ['cities', { $from: '/arguments/city' }] };
      const { error, url } = await sent(request, { arguments: { city } });
      expect(error).toMatchObject({ code: 'BAD_INPUT', details: { sent: false } });
      expect(url).toBeUndefined();
    },
  );

  it.each([
    ['of another type', { $from: '/arguments/x', $type: 'integer' }, 1.5],
    ['that is missing', { $from: '/arguments/y', $required: true }, 1],
  ])('is refused before it is sent for a value %s', async (_, x, value) => {
    const { error, url } = await sent({ body: { x } }, { arguments: { x: value } });
    expect(error).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'bad_argument', sent: false, agent_id: 'subject' },
    });
    expect(url).toBeUndefined();
  });

  it.each([
    { request: { path: '/../admin' } },
    { request: { path: '/a?b=c' } },
    { request: { path: ['a/b'] } },
    { request: { path: 'a' } },
    { request: { headers: { 'x y': 'z' } } },
    { request: { body: { a: { $from: 'task' } } } },
    { request: { body: { a: { $from: '/task', $splice: true } } } },
    { answer: { text: 'result.text' } },
    { poll: { state: '/s', done: ['x'] } },
    { events: [{ emit: 'song' }] },
    { profile: 'no-such' },
  ])('stops the manifest when it is wrong: %o', (options) => {
    const open = () =>
      openHttpAdapter('http://127.0.0.1:1/', { options: { profile: 'template', ...options } });
    expect(open).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  });
});

/** An agent whose answer is a stream of these lines. */
async function streams(type: string, body: string, options: object) {
  return serveHttp(
    (_request, response) => void response.writeHead(200, { 'content-type': type }).end(body),
    { options: { profile: 'template', request: {}, ...options } },
  );
}

const TOKEN_RULE = { event: 'delta', emit: 'token', data: { text: { $from: '/t' } } };

describe('[G26] an answer by a template', () => {
  it('is a document, whole where no pointer is given', async () => {
    const { adapter } = await serveHttp((_request, response) => json(response, { a: [1] }), {
      options: { profile: 'template', request: {} },
    });
    expect((await runCall(adapter)).events).toEqual([
      { type: 'final', data: { answer: '{"a":[1]}', data: { a: [1] } } },
    ]);
  });

  it('is a text, or nothing', async () => {
    const { adapter } = await serveHttp(
      ({ url }, response) => {
        if (url === '/agent/none') response.writeHead(204).end();
        else response.writeHead(200, { 'content-type': 'text/plain' }).end('hello');
      },
      {
        options: {
          profile: 'template',
          request: { path: [{ $from: '/task' }] },
        },
      },
    );
    expect((await runCall(adapter, 'some')).answer).toBe('hello');
    expect((await runCall(adapter, 'none')).answer).toBe('');
  });

  it('is a stream that ends with the text it is to end with', async () => {
    const options = { events: [TOKEN_RULE], done: '[DONE]' };
    const body = 'event: delta\ndata: {"t":"a"}\n\nevent: other\ndata: {}\n\n';
    const whole = await streams('text/event-stream', `${body}data: [DONE]\n\ndata: x\n\n`, options);
    expect((await runCall(whole.adapter)).events).toEqual([
      { type: 'token', data: { text: 'a' } },
      { type: 'final', data: { answer: 'a' } },
    ]);
    const half = await streams('text/event-stream', body, options);
    expect((await runCall(half.adapter)).error?.details.reason).toBe('no_final');
    const open = await streams('text/event-stream', body, { events: [TOKEN_RULE] });
    expect((await runCall(open.adapter)).answer).toBe('a');
  });

  it.each([
    ['no JSON', '{"t":\n', 'invalid_json'],
    ['a token that is none', '{"t":1}\n', 'bad_event'],
    ['a line without end', 'x'.repeat(300_000), 'line_too_long'],
    ['lines without end', '{"t":"a"}\n'.repeat(40_000), 'stream_too_large'],
  ])('is UPSTREAM_ERROR for %s', async (_, body, reason) => {
    const rule = { emit: 'token', data: { text: { $from: '/t' } } };
    const limits = { max_result_bytes: 200_000, max_stream_bytes: 200_000 };
    const { adapter } = await streams('application/x-ndjson', body, {
      events: [rule],
      ...(reason === 'line_too_long' ? { max_result_bytes: 200_000 } : limits),
    });
    expect((await runCall(adapter)).error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason },
    });
  });

  it('keeps what the next call of the conversation needs', async () => {
    const kept: AgentHandle[] = [];
    const { adapter } = await serveHttp(
      (_request, response) => json(response, { text: 'x', thread: { id: 't1' }, n: [1] }),
      {
        options: {
          profile: 'template',
          request: {},
          answer: { text: '/text' },
          conversation: { thread_id: '/thread/id', none: '/none' },
        },
      },
    );
    const keep = (handle: AgentHandle) => void kept.push(handle);
    await Array.fromAsync(adapter.call(exampleEnvelope(''), { ...CONTEXT, keep }));
    expect(kept.at(-1)).toEqual({ thread_id: 't1' });
  });

  it('is one of its capability', async () => {
    const { adapter } = await serveHttp((request, response) => json(response, request.url), {
      options: {
        profile: 'template',
        request: { path: '/other' },
        calls: { work: { request: { path: '/mine' } } },
      },
    });
    expect((await runCall(adapter)).answer).toBe('/agent/mine');
  });
});

/** An agent that answers later: `states` one after the other, `Location` as given. */
async function polled(location: string | undefined, states: readonly object[], more: object = {}) {
  const seen: string[] = [];
  let polls = 0;
  const world = await serveHttp(
    (request: IncomingMessage, response: ServerResponse) => {
      seen.push(`${request.method} ${request.url}`);
      if (request.method === 'POST') {
        response.writeHead(202, location === undefined ? {} : { location }).end();
        return;
      }
      json(response, states[Math.min(polls, states.length - 1)]);
      polls += 1;
    },
    {
      options: {
        profile: 'template',
        request: {},
        answer: { text: '/text' },
        poll: {
          url: { $from: '/start/headers/location' },
          state: '/state',
          done: [true],
          failed: ['bad'],
          every_ms: 10,
          ...more,
        },
      },
    },
  );
  return { ...world, seen };
}

describe('[G26] an answer that comes later', () => {
  it('is asked for where the agent says that it will be', async () => {
    const { adapter, seen } = await polled('status/7?x=1', [
      { state: false },
      { state: true, text: 'ready' },
    ]);
    expect((await runCall(adapter)).answer).toBe('ready');
    expect(seen).toEqual(['POST /agent', 'GET /status/7?x=1', 'GET /status/7?x=1']);
  });

  it.each([
    ['another origin', 'http://127.0.0.1:1/status', 'other_origin'],
    ['another scheme', 'https://127.0.0.1/status', 'other_origin'],
    ['another host without a scheme', '//169.254.169.254/latest', 'other_origin'],
    ['credentials', 'http://user:pass@127.0.0.1:1/', 'other_origin'],
    ['no place', undefined, 'bad_result'],
  ])('is not asked for at %s', async (_, location, reason) => {
    const { adapter, seen } = await polled(location, [{ state: true, text: 'x' }]);
    expect((await runCall(adapter)).error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason },
    });
    expect(seen).toEqual(['POST /agent']);
  });

  it.each(['../admin', 'a\r\nX: 1', '', undefined])(
    'is not asked for under an id that is a path: %j',
    async (id) => {
      const seen: string[] = [];
      const { adapter } = await serveHttp(
        ({ url = '' }, response) => {
          seen.push(url);
          json(response, { id, state: 'working' });
        },
        { options: { ...templateOptions('jobs'), request: {} } },
      );
      const { error } = await runCall(adapter);
      expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason: 'bad_result' } });
      expect(error?.details).not.toHaveProperty('sent');
      expect(seen).toEqual(['/agent']);
    },
  );

  it.each([
    ['fails', [{ state: 'bad' }], 'UPSTREAM_ERROR', 'tool_error'],
    ['has no state', [{}], 'UPSTREAM_ERROR', 'bad_result'],
    ['never comes', [{ state: 'working' }], 'TIMEOUT', 'max_polls'],
  ])('that %s is an error', async (_, states, code, reason) => {
    const { adapter } = await polled('/s', states, { max_polls: 3 });
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code, details: { reason } });
    expect(error?.details).not.toHaveProperty('sent');
  });

  it('is left at the signal, also between two polls', async () => {
    const { adapter, seen } = await polled('/s', [{ state: 'working' }], { every_ms: 60_000 });
    const polls = expect.poll(() => seen.length, eventually).toBeGreaterThan(2);
    const { error } = await runCall(adapter, '', abortWhen(polls));
    expect(error?.code).toBe('TIMEOUT');
    expect(FabricError.is(error)).toBe(true);
  });
});
