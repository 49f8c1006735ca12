import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { FabricError, silentLog } from '@starloom/core';
import { adapterContract, exampleEnvelope, exampleManifest } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpAdapter } from '../src/http/adapter.ts';
import { abortWhen, eventually, runCall } from './fixtures/agent-world.ts';
import { startContractServer } from './fixtures/contract-server.ts';
import { openHttpAdapter, serveHttp, serveTcp } from './fixtures/http-world.ts';
import { selfSigned } from './fixtures/self-signed.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const NAMES = { agent_id: 'subject', capability: 'work' };
const TOKEN = 'event: token\ndata: {"text":"a"}\n\n';

describe('[G21][G26] an agent over HTTP', () => {
  adapterContract('http', async () => {
    const server = await startContractServer();
    return {
      adapter: openHttpAdapter(server.uri),
      stopAgent: () => server.stop(),
      close: () => server.stop(),
    };
  });
});

describe('what an agent may answer', () => {
  it.each([
    ['a result', { answer: 'yes', data: { n: 1 }, citations: [{ uri: 'doc:1' }], extra: true }],
    [
      'a result with nulls',
      { answer: 'yes', data: { n: 1 }, citations: [{ uri: 'doc:1' }], content: null },
    ],
    [
      'our success payload',
      {
        ok: true,
        result: { answer: 'yes', data: { n: 1 }, citations: [{ uri: 'doc:1' }] },
        trace: null,
      },
    ],
  ])('is %s', async (_, body) => {
    const { adapter } = await serveHttp((_request, response) => json(response, 200, body));
    const data = { answer: 'yes', data: { n: 1 }, citations: [{ uri: 'doc:1' }] };
    expect((await runCall(adapter)).events).toEqual([{ type: 'final', data }]);
  });

  it('is a result with the tool calls it made', async () => {
    const record = { id: '1', name: 'search', args: { q: 'x' }, result: 'found' };
    const { adapter } = await serveHttp((_request, response) =>
      json(response, 200, { ok: true, result: { answer: 'yes', tool_calls: [record] } }),
    );
    const { result: _, ...start } = record;
    expect((await runCall(adapter)).events).toEqual([
      { type: 'tool_call', data: { ...start, phase: 'start' } },
      { type: 'tool_call', data: { ...record, phase: 'end' } },
      { type: 'final', data: { answer: 'yes' } },
    ]);
  });

  it('is a stream of whole events, of their data only, or both', async () => {
    const { adapter } = await serveHttp((_request, response) => {
      stream(response);
      response.write(': a comment\n\nevent: ping\ndata: not json\n\n');
      response.write('event: status\ndata: {"state":"started"}\n\n');
      response.write('data: {"type":"token","seq":2,"at":"now","data":{"text":"a"}}\n\n');
      response.write('event: token\ndata: {"type":"token","data":{"text":"b"}}\n\n');
      response.write('event: message\ndata: {"type":"unheard-of","data":{}}\n\n');
      response.end('event: final\ndata: {"answer":"ab","data":{"type":"x","data":1}}\n\n');
    });
    expect((await runCall(adapter)).events).toEqual([
      { type: 'status', data: { state: 'started' } },
      { type: 'token', data: { text: 'a' } },
      { type: 'token', data: { text: 'b' } },
      { type: 'final', data: { answer: 'ab', data: { type: 'x', data: 1 } } },
    ]);
  });

  it('is an error in the middle of a stream', async () => {
    const { adapter } = await serveHttp((_request, response) => {
      stream(response).end(
        `${TOKEN}event: error\ndata: {"code":"OVERLOADED","message":"busy"}\n\n`,
      );
    });
    const { events, error } = await runCall(adapter);
    expect(events).toHaveLength(1);
    expect(error).toMatchObject({
      code: 'OVERLOADED',
      details: { upstream: { code: 'OVERLOADED', message: 'busy' }, ...NAMES },
    });
  });
});

describe('what an agent is sent', () => {
  it('is the envelope, with the headers of the manifest and of the trace', async () => {
    const seen = Promise.withResolvers<{ request: IncomingMessage; body: string }>();
    const { adapter } = await serveHttp(
      async (request, response) => {
        seen.resolve({ request, body: await text(request) });
        json(response, 200, { answer: 'yes' });
      },
      {
        path: '/a%20b/agent?key=1#part',
        headers: { 'X-Key': 'k', Accept: 'text/html', Traceparent: 'no' },
      },
    );
    const envelope = exampleEnvelope('hello');
    await Array.fromAsync(adapter.call(envelope, CONTEXT));
    const { request, body } = await seen.promise;
    expect(request).toMatchObject({ method: 'POST', url: '/a%20b/agent?key=1' });
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-key': 'k',
      'x-openstarry-trace-id': envelope.trace.trace_id,
      'x-openstarry-depth': '1',
      'x-openstarry-chain': 'subject/work',
      traceparent: expect.stringMatching(/^00-/),
    });
    expect(JSON.parse(body)).toEqual(envelope);
  });

  it('goes over the connections that are there, stream or not', async () => {
    let calls = 0;
    const { adapter, connections } = await serveHttp((_request, response) => {
      calls += 1;
      if (calls % 2 === 0) json(response, 200, { answer: 'x' });
      else stream(response).end(`${TOKEN}event: final\ndata: {"answer":"x"}\n\n`);
    });
    for (let round = 0; round < 20; round += 1) expect((await runCall(adapter)).answer).toBe('x');
    expect(connections.count).toBeLessThanOrEqual(2);
  });

  it.each([
    ['no address of the web', { uri: 'ftp://127.0.0.1/' }, 'bad_uri'],
    ['credentials in the address', { uri: 'http://user:pass@127.0.0.1/' }, 'uri_credentials'],
    ['a header with a line end', { headers: { 'x-a': 'b\r\nx-c: d' } }, 'bad_header'],
    ['a header name with a blank', { headers: { 'x a': 'b' } }, 'bad_header'],
    ['a header that frames the message', { headers: { 'Content-Length': '1' } }, 'bad_header'],
    ['an option that is unknown', { options: { max_bytes: 1 } }, 'bad_options'],
  ])('is nothing when the manifest has %s', (_, change, reason) => {
    const endpoint = { transport: 'http' as const, uri: 'http://127.0.0.1:1/', ...change };
    expect(() =>
      createHttpAdapter({ manifest: exampleManifest({ endpoint }), log: silentLog }),
    ).toThrow(
      expect.objectContaining({
        code: 'BAD_INPUT',
        details: expect.objectContaining({ reason, agent_id: 'subject' }),
      }),
    );
  });
});

describe('an answer that is no success', () => {
  it.each([
    [400, 'UPSTREAM_ERROR'],
    [401, 'AUTH_DENIED'],
    [403, 'AUTH_DENIED'],
    [404, 'CAPABILITY_NOT_FOUND'],
    [408, 'TIMEOUT'],
    [418, 'UPSTREAM_ERROR'],
    [422, 'UPSTREAM_ERROR'],
    [429, 'RATE_LIMITED'],
    [499, 'UPSTREAM_ERROR'],
    [500, 'UPSTREAM_ERROR'],
    [503, 'AGENT_OFFLINE'],
    [504, 'TIMEOUT'],
  ])('with status %i is %s', async (status, code) => {
    const { adapter } = await serveHttp(
      (_request, response) => void response.writeHead(status).end(),
    );
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code, details: { status, ...NAMES } });
    expect(error?.details).not.toHaveProperty('sent');
    expect(error?.details.upstream).toEqual({ status });
    expect(error?.isAgentAnswer).toBe([400, 418, 422, 499].includes(status));
  });

  it('shows a bounded, clean excerpt of its body beside the message, without our credentials', async () => {
    const { adapter } = await serveHttp(
      (request, response) => {
        const seen = request.headers.authorization?.split(' ')[1];
        response.writeHead(500).end(`\u001b[31mbad \u200bkey ${seen} ${'x'.repeat(100_000)}`);
      },
      { headers: { Authorization: 'Bearer sk-1234567890' } },
    );
    const { error } = await runCall(adapter);
    const text = expect.stringMatching(/^bad key \[redacted\] x{900,1000}…$/);
    expect(error?.details.upstream).toEqual({ status: 500, text });
    expect(error?.message).not.toContain('key');
  });

  it('says when to come back', async () => {
    const { adapter } = await serveHttp((_request, response) => {
      response.writeHead(429, { 'retry-after': '3' }).end();
    });
    expect((await runCall(adapter)).error?.details).toMatchObject({ retry_after_ms: 3_000 });
  });

  it.each([200, 503])('keeps the code of our error payload, at status %i', async (status) => {
    const { adapter } = await serveHttp((_request, response) =>
      json(response, status, {
        ok: false,
        error: { code: 'RECURSION_LIMIT', message: 'too deep', details: { sent: false } },
        trace: null,
      }),
    );
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({
      code: 'RECURSION_LIMIT',
      details: { upstream: { message: 'too deep' } },
    });
    expect(error?.details).not.toHaveProperty('sent');
  });

  it('is not followed when it leads elsewhere', async () => {
    let followed = false;
    const { adapter } = await serveHttp((request, response) => {
      if (request.url !== '/agent') followed = true;
      response.writeHead(307, { location: '/other?token=secret' }).end();
    });
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'redirect', location: '/other' },
    });
    expect(followed).toBe(false);
  });
});

describe('an agent that breaks the contract', () => {
  it.each([
    ['text', { 'content-type': 'text/html' }, '<p>hello</p>', 'content_type'],
    ['no type at all', {}, '{"answer":"x"}', 'content_type'],
    [
      'compressed JSON',
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      'x',
      'content_type',
    ],
    ['JSON that is none', jsonType(), '{"answer":', 'invalid_json'],
    ['JSON that is no result', jsonType(), '{"status":"fine"}', 'bad_result'],
    ['JSON that is no object', jsonType(), '"hello"', 'bad_result'],
    ['nothing', jsonType(), '', 'invalid_json'],
    ['an answer that is no text', jsonType(), '{"answer":{}}', 'bad_event'],
    [
      'JSON too deep',
      jsonType(),
      `{"answer":"","data":${'['.repeat(9e4)}${']'.repeat(9e4)}}`,
      'too_deep',
    ],
    [
      'JSON a little too deep',
      jsonType(),
      `{"answer":"","data":${'['.repeat(135)}${']'.repeat(135)}}`,
      'bad_event',
    ],
    [
      'JSON with too many values',
      jsonType(),
      `{"answer":"","data":[${'{},'.repeat(300_000)}0]}`,
      'too_many_values',
    ],
    [
      'bytes that are not UTF-8',
      jsonType(),
      Buffer.from('{"answer":"\xff"}', 'latin1'),
      'invalid_utf8',
    ],
    ['a stream without a final', streamType(), TOKEN, 'no_final'],
    ['a stream of garbage', streamType(), 'data: garbage\n\n', 'invalid_json'],
    [
      'a stream that is not UTF-8',
      streamType(),
      Buffer.from('data: \xff\n\n', 'latin1'),
      'invalid_utf8',
    ],
  ])('is UPSTREAM_ERROR for %s', async (_, headers, body, reason) => {
    const { adapter } = await serveHttp((_request, response) => {
      response.writeHead(200, headers).end(body);
    });
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason, ...NAMES } });
  });

  it('is held to its first answer', async () => {
    const { adapter } = await serveHttp((_request, response) => {
      const final = 'event: final\ndata: {"answer":"first"}\n\n';
      stream(response).end(`${final}${final.replace('first', 'second')}data: garbage\n\n`);
    });
    const { events, answer } = await runCall(adapter);
    expect(answer).toBe('first');
    expect(events).toHaveLength(1);
  });

  it('is cut when it goes on after its answer, long before it has sent much', async () => {
    let sent = 0;
    const { adapter, connections } = await serveHttp(({ socket }, response) => {
      response.on('close', () => {
        sent = socket.bytesWritten;
      });
      flood(stream(response), 'event: final\ndata: {"answer":"first"}\n\n');
    });
    expect((await runCall(adapter)).answer).toBe('first');
    await expect.poll(() => connections.open.size, eventually).toBe(0);
    expect(sent).toBeLessThan(10_000_000);
  });

  it.each([
    [
      'JSON of a hundred megabytes',
      'application/json',
      { 'content-length': 104_857_600 },
      'result_too_large',
    ],
    ['JSON of unknown length', 'application/json', {}, 'result_too_large'],
    ['an event without end', 'text/event-stream', {}, 'event_too_large'],
  ])('is cut at the size limit for %s', async (_, type, headers, reason) => {
    const options = { max_result_bytes: 200_000 };
    const { adapter, connections } = await serveHttp(
      (_request, response) => {
        response.writeHead(200, { 'content-type': type, ...headers }).flushHeaders();
        if (!('content-length' in headers)) flood(response, 'x'.repeat(10_000));
      },
      { options },
    );
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason, limit: 200_000 } });
    await expect.poll(() => connections.open.size, eventually).toBe(0);
  });

  it('is cut when its stream as a whole is too large', async () => {
    const options = { max_stream_bytes: 200_000 };
    const { adapter } = await serveHttp((_request, response) => flood(stream(response), TOKEN), {
      options,
    });
    const { error, events } = await runCall(adapter);
    expect(error?.details).toMatchObject({ reason: 'stream_too_large', limit: 200_000 });
    expect(events.length).toBeGreaterThan(0);
  });

  it('is AGENT_OFFLINE when it closes the connection without an answer, which was perhaps sent', async () => {
    const { adapter } = await serveTcp((socket) => socket.once('data', () => socket.destroy()));
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'connection_lost', ...NAMES },
    });
    expect(error?.details).not.toHaveProperty('sent');
  });

  it.each([
    ['in a stream', 'text/event-stream', TOKEN, 1],
    ['in JSON', 'application/json', '{"answer":', 0],
  ])('is UPSTREAM_ERROR when it dies in the middle, %s', async (_, type, body, events) => {
    const { adapter } = await serveHttp((_request, response) => {
      response.writeHead(200, { 'content-type': type });
      response.write(body, () => response.destroy());
    });
    const outcome = await runCall(adapter);
    expect(outcome.events).toHaveLength(events);
    expect(outcome.error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'connection_lost' },
    });
  });

  it('is UPSTREAM_ERROR when it does not speak HTTP', async () => {
    const { adapter } = await serveTcp((socket) => {
      socket.once('data', () => socket.write('220 smtp.example.org ESMTP\r\n'));
    });
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason: 'invalid_http' } });
  });
});

describe('an agent that does not end', () => {
  it.each([
    ['before the head of its answer', () => {}, 0],
    ['after the head', (response: ServerResponse) => stream(response).flushHeaders(), 0],
    ['in the middle of a stream', (response: ServerResponse) => stream(response).write(TOKEN), 1],
    [
      'in the middle of an event',
      (response: ServerResponse) => stream(response).write(`${TOKEN}da`),
      1,
    ],
  ])('is left at the signal when it hangs %s', async (_, answer, events) => {
    const reached = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const { adapter, connections } = await serveHttp((_request, response) => {
      response.on('close', () => left.resolve());
      answer(response);
      reached.resolve();
    });
    const outcome = await runCall(adapter, 'hang', abortWhen(reached.promise));
    expect(outcome.error?.code).toBe('TIMEOUT');
    expect(outcome.events.length).toBeLessThanOrEqual(events);
    await left.promise;
    await expect.poll(() => connections.open.size, eventually).toBe(0);
  });

  it('is left at the signal when its stream has no end in sight', async () => {
    const { adapter, connections } = await serveHttp((_request, response) => {
      flood(stream(response), TOKEN);
    });
    const control = new AbortController();
    const reason = new FabricError('CANCELLED', 'Enough');
    const calls = adapter.call(exampleEnvelope('flood'), {
      signal: control.signal,
      log: silentLog,
    });
    const consumed = (async () => {
      let count = 0;
      for await (const _ of calls) {
        count += 1;
        if (count === 1_000) control.abort(reason);
      }
    })();
    await expect(consumed).rejects.toBe(reason);
    await expect.poll(() => connections.open.size, eventually).toBe(0);
  });

  it('is read no faster than the consumer takes, and goes on when it takes more', async () => {
    let written = 0;
    const { adapter } = await serveHttp((_request, response) => {
      const chunk = `event: token\ndata: {"text":"${'x'.repeat(10_000)}"}\n\n`;
      const write = () => {
        if (written === 5_000) return response.end('event: final\ndata: {"answer":"x"}\n\n');
        written += 1;
        if (response.write(chunk)) setImmediate(write);
        else response.once('drain', write);
      };
      stream(response);
      write();
    });
    const calls = adapter.call(exampleEnvelope('flood'), CONTEXT)[Symbol.asyncIterator]();
    await calls.next();
    let before = -1;
    await expect
      .poll(() => {
        const last = before;
        before = written;
        return before === last;
      }, eventually)
      .toBe(true);
    expect(written).toBeLessThan(2_500);
    const rest = await Array.fromAsync({ [Symbol.asyncIterator]: () => calls });
    expect(rest.at(-1)?.type).toBe('final');
    expect(rest).toHaveLength(5_000);
  });

  it('sees its connections close with the adapter, and its calls end', async () => {
    const reached = Promise.withResolvers<void>();
    const { adapter, connections } = await serveHttp(() => reached.resolve());
    const outcome = runCall(adapter, 'hang');
    await reached.promise;
    await adapter.close();
    expect((await outcome).error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'closed', ...NAMES },
    });
    await expect.poll(() => connections.open.size, eventually).toBe(0);
    expect((await runCall(adapter)).error?.details).toMatchObject({
      reason: 'closed',
      sent: false,
    });
    expect((await adapter.health(CONTEXT)).status).toBe('offline');
  });
});

describe('an agent that cannot be reached', () => {
  it('was sent nothing when the caller left before there was a connection', async () => {
    let requests = 0;
    const { adapter } = await serveHttp((_request, response) => {
      requests += 1;
      json(response, 200, { answer: 'x' });
    });
    const control = new AbortController();
    const outcome = runCall(adapter, 'hang', control.signal);
    control.abort(new FabricError('CANCELLED', 'Never mind'));
    expect((await outcome).error?.code).toBe('CANCELLED');
    expect((await runCall(adapter)).answer).toBe('x');
    expect(requests).toBe(1);
  });

  it.each([
    ['nobody listens', 'http://127.0.0.1:1/agent', 'refused'],
    ['its name is unknown', 'http://no-such-host.invalid/agent', 'unknown_host'],
  ])('was sent nothing when %s', async (_, uri, reason) => {
    const adapter = openHttpAdapter(uri);
    onTestFinished(() => adapter.close());
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { sent: false, reason, ...NAMES },
    });
  });

  it('was sent nothing when no known authority signed its certificate', async () => {
    let asked = false;
    const server = createTlsServer(selfSigned, () => {
      asked = true;
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const adapter = openHttpAdapter(`https://127.0.0.1:${port}/agent`);
    onTestFinished(async () => {
      await adapter.close();
      server.close();
    });
    expect((await runCall(adapter)).error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { sent: false, reason: 'tls' },
    });
    expect(asked).toBe(false);
    expect((await adapter.health(CONTEXT)).status).toBe('offline');
  });
});

describe('the health of an agent', () => {
  it.each([
    [200, 'online'],
    [404, 'online'],
    [401, 'online'],
    [500, 'offline'],
    [503, 'offline'],
  ])('with status %i is %s', async (status, expected) => {
    const paths: (string | undefined)[] = [];
    const { adapter } = await serveHttp(
      (request, response) => {
        paths.push(request.url);
        response.writeHead(status).end();
      },
      { path: '/agent/?key=1' },
    );
    expect((await adapter.health(CONTEXT)).status).toBe(expected);
    expect(paths).toEqual(['/agent/health?key=1']);
  });

  it('is offline when it does not answer in time', async () => {
    const { adapter } = await serveHttp(() => {}, { options: { health_timeout_ms: 50 } });
    expect((await adapter.health(CONTEXT)).status).toBe('offline');
  });

  it('is offline when the time of the asker is up, and unknown when the asker leaves', async () => {
    const { adapter } = await serveHttp(() => {});
    const late = AbortSignal.abort(new FabricError('TIMEOUT', 'Too slow'));
    expect((await adapter.health({ ...CONTEXT, signal: late })).status).toBe('offline');
    const reason = new FabricError('CANCELLED', 'Never mind');
    const gone = adapter.health({ ...CONTEXT, signal: AbortSignal.abort(reason) });
    await expect(gone).rejects.toBe(reason);
  });
});

function jsonType() {
  return { 'content-type': 'application/json; charset=utf-8' };
}

function streamType() {
  return { 'content-type': 'text/event-stream' };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, jsonType()).end(JSON.stringify(body));
}

function stream(response: ServerResponse): ServerResponse {
  return response.headersSent ? response : response.writeHead(200, streamType());
}

/** Writes `chunk` as fast as it is taken, until nobody takes it. */
function flood(response: ServerResponse, chunk: string): void {
  const write = () => {
    if (response.destroyed) return;
    if (response.write(chunk.repeat(10))) setImmediate(write);
    else response.once('drain', write);
  };
  write();
}
