import { once } from 'node:events';
import { createServer } from 'node:net';
import { FabricError, silentLog } from '@starloom/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  answer,
  type Behaviour,
  type FakeMcp,
  openEvents,
  serveFake,
  taskOf,
  toEvent,
  toResult,
} from './fixtures/fake-mcp.ts';
import { serveHttp } from './fixtures/mcp-http-server.ts';
import { openMcpHttp } from './fixtures/open-mcp.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

const MiB = 1_048_576;

/** The server behaves as the test says on the task `bad`, and well on every other. */
async function withBehaviour(bad: Behaviour, options: Record<string, unknown> = {}) {
  const fake = await serve({
    'tools/call': (request, response) => {
      if (taskOf(request) === 'bad') bad(request, response);
      else answer(response, { id: request.id, result: toResult(taskOf(request)) });
    },
  });
  return { fake, adapter: await openMcpHttp(fake.uri, options) };
}

async function serve(behaviours: Record<string, Behaviour>, port = 0): Promise<FakeMcp> {
  const fake = await serveFake(behaviours, port);
  onTestFinished(() => fake.close());
  return fake;
}

describe('an mcp agent over http that misbehaves', () => {
  it.each<[what: string, reason: string, code: string, bad: Behaviour]>([
    [
      'answers with a page instead of a message',
      'not_mcp',
      'UPSTREAM_ERROR',
      (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hi</p>'),
    ],
    [
      'answers with garbage that is called JSON',
      'not_json',
      'UPSTREAM_ERROR',
      (_, response) => response.writeHead(200, JSON_TYPE).end('{"jsonrpc": "2.0", '),
    ],
    [
      'answers with too many values',
      'too_many_values',
      'UPSTREAM_ERROR',
      ({ id }, response) =>
        answer(response, { id, result: { ...toResult('many'), more: Array(400_000).fill(0) } }),
    ],
    [
      'answers with JSON that is no JSON-RPC',
      'not_json_rpc',
      'UPSTREAM_ERROR',
      (_, response) => response.writeHead(200, JSON_TYPE).end('{"answer": 42}'),
    ],
    [
      'streams garbage',
      'not_json',
      'UPSTREAM_ERROR',
      (_, response) => {
        openEvents(response);
        response.write('data: hello?\n\n');
      },
    ],
    [
      'answers a question nobody asked',
      'no_answer',
      'UPSTREAM_ERROR',
      ({ id }, response) => answer(response, { id: Number(id) + 1, result: toResult('crossed') }),
    ],
    [
      'ends its stream without an answer',
      'no_answer',
      'UPSTREAM_ERROR',
      (_, response) => {
        openEvents(response);
        response.end(': bye\n\n');
      },
    ],
    [
      'accepts the call and says no more',
      'no_answer',
      'UPSTREAM_ERROR',
      (_, response) => response.writeHead(202).end(),
    ],
    [
      'sends an answer that is announced as too large',
      'answer_too_large',
      'UPSTREAM_ERROR',
      (_, response) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': 100 * MiB });
        response.write('{');
      },
    ],
    [
      'never ends an event',
      'event_too_large',
      'UPSTREAM_ERROR',
      (_, response) => {
        openEvents(response);
        flood(response, `data: ${'x'.repeat(1_000)}\n`);
      },
    ],
    [
      'goes away in the middle of its stream',
      'connection_lost',
      'AGENT_OFFLINE',
      (_, response) => {
        openEvents(response);
        response.write(': hello\n\n', () => response.socket?.destroy());
      },
    ],
    [
      'goes away before it answers',
      'connection_lost',
      'AGENT_OFFLINE',
      (_, response) => response.socket?.destroy(),
    ],
  ])('that %s fails with %s, and serves the next call', async (_, reason, code, bad) => {
    const { adapter } = await withBehaviour(bad, { result_bytes: MiB });
    const [error, other] = await Promise.all([
      failedCall(adapter, 'bad'),
      runCall(adapter, 'fine'),
    ]);
    expect(error).toMatchObject({ code, details: { reason, agent_id: 'subject' } });
    expect(error.details.sent).toBeUndefined();
    expect(other.result?.answer).toBe('fine');
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it('is cut off when its answer grows beyond the limit', async () => {
    let written = 0;
    const { adapter } = await withBehaviour(
      (_, response) => {
        response.writeHead(200, JSON_TYPE);
        flood(response, 'x'.repeat(65_536), (bytes) => {
          written += bytes;
        });
      },
      { result_bytes: 4 * MiB },
    );
    const error = await failedCall(adapter, 'bad');
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'answer_too_large' },
    });
    expect(written).toBeLessThan(32 * MiB);
  });

  it('is left at once when the time is up before its headers, and when it hangs in its stream', async () => {
    const closed: string[] = [];
    const { adapter } = await withBehaviour((request, response) => {
      const isFirst = closed.length === 0;
      response.on('close', () => closed.push(isFirst ? 'no headers' : 'stream'));
      if (isFirst) return;
      openEvents(response);
      const params = { progressToken: request.params._meta.progressToken, progress: 1 };
      response.write(toEvent({ method: 'notifications/progress', params }));
    });
    for (const what of ['no headers', 'stream']) {
      const control = new AbortController();
      const failure = failedCall(adapter, 'bad', { signal: control.signal });
      await runCall(adapter, 'fine');
      control.abort(new FabricError('TIMEOUT', 'Too slow'));
      expect((await failure).code).toBe('TIMEOUT');
      await expect.poll(() => closed).toContain(what);
    }
  });

  it('is believed once when it answers twice', async () => {
    const { adapter } = await withBehaviour(({ id }, response) => {
      openEvents(response);
      response.write(toEvent({ id, result: toResult('first') }));
      response.end(toEvent({ id, result: toResult('second') }));
    });
    expect((await runCall(adapter, 'bad')).result?.answer).toBe('first');
    expect((await runCall(adapter, 'fine')).result?.answer).toBe('fine');
  });

  it('does not keep a stream open after its answer', async () => {
    const closed = Promise.withResolvers<void>();
    const { adapter } = await withBehaviour(({ id }, response) => {
      response.on('close', closed.resolve);
      openEvents(response);
      response.write(toEvent({ id, result: toResult('done') }));
    });
    expect((await runCall(adapter, 'bad')).result?.answer).toBe('done');
    await closed.promise;
  });

  it.each([301, 302, 303, 307, 308])('is not followed by a redirect %i', async (status) => {
    const elsewhere = await serve({});
    const { adapter } = await withBehaviour((_, response) => {
      response.writeHead(status, { location: elsewhere.uri }).end();
    });
    const error = await failedCall(adapter, 'bad');
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'redirect', status },
    });
    expect(elsewhere.requests).toHaveLength(0);
  });

  it.each<[status: number, code: string, more: Record<string, unknown>]>([
    [401, 'AUTH_DENIED', { upstream: { status: 401, text: 'no' } }],
    [403, 'AUTH_DENIED', { upstream: { status: 403, text: 'no' } }],
    [404, 'UPSTREAM_ERROR', { reason: 'not_mcp' }],
    [413, 'UPSTREAM_ERROR', { reason: 'tool_error' }],
    [429, 'RATE_LIMITED', { retry_after_ms: 7_000 }],
    [500, 'UPSTREAM_ERROR', {}],
    [503, 'AGENT_OFFLINE', { retry_after_ms: 7_000 }],
  ])('that answers with status %i fails with %s', async (status, code, more) => {
    const { adapter } = await withBehaviour((_, response) => {
      response.writeHead(status, { 'retry-after': '7' }).end('no');
    });
    expect(await failedCall(adapter, 'bad')).toMatchObject({ code, details: { status, ...more } });
  });

  it.each(['another page each time', 'the same page again'])(
    'is not listed without end: %s',
    async (kind) => {
      let pages = 0;
      const fake = await serve({
        'tools/list': ({ id }, response) => {
          pages += 1;
          const nextCursor = kind.startsWith('another') ? `page-${pages}` : 'same';
          const tools = [{ name: `tool-${pages}`, inputSchema: { type: 'object' } }];
          answer(response, { id, result: { resultType: 'complete', tools, nextCursor } });
        },
      });
      const error = await failedCall(await openMcpHttp(fake.uri), 'hello');
      expect(error.details).toMatchObject({ sent: false });
      expect(pages).toBeLessThan(200);
    },
  );

  it('is offline while its port is closed, and online when it is open again', async () => {
    const first = await serve({});
    const adapter = await openMcpHttp(first.uri);
    expect((await runCall(adapter, 'one')).result?.answer).toBe('one');
    await first.close();
    const offline = { code: 'AGENT_OFFLINE', details: { sent: false, reason: 'refused' } };
    await expect.poll(() => failedCall(adapter, 'two')).toMatchObject(offline);
    await serve({}, first.port);
    expect((await runCall(adapter, 'three')).result?.answer).toBe('three');
  });

  it('is offline before the first connection, too, and back later', async () => {
    const { port, close } = await serve({});
    await close();
    const adapter = await openMcpHttp(`http://127.0.0.1:${port}/mcp`);
    expect(await failedCall(adapter, 'one')).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { sent: false },
    });
    await serve({}, port);
    expect((await runCall(adapter, 'two')).result?.answer).toBe('two');
  });

  it('is given up when it does not even negotiate', async () => {
    const fake = await serve({ 'server/discover': () => {} });
    const adapter = await openMcpHttp(fake.uri, { connect_timeout_ms: 100 });
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'connect_timeout', sent: false },
    });
    const context = { signal: new AbortController().signal, log: silentLog };
    expect((await adapter.health(context)).status).toBe('offline');
  });

  it('is no agent when it does not speak HTTP', async () => {
    const server = createServer((socket) => {
      socket.once('data', () => socket.end('220 mail.example ESMTP\r\n'));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const error = await failedCall(await openMcpHttp(`http://127.0.0.1:${port}/mcp`), 'hello');
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason: 'invalid_http' } });
  });

  it('is no agent when it is a web site', async () => {
    const site = await serveHttp((_, response) => response.end('<p>Welcome</p>'));
    onTestFinished(() => site.close());
    const error = await failedCall(await openMcpHttp(site.uri), 'hello');
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { sent: false } });
  });
});

const JSON_TYPE = { 'content-type': 'application/json' };

/** Writes as fast as it is read, until the reader leaves. */
function flood(
  response: Parameters<Behaviour>[1],
  chunk: string,
  onWritten: (bytes: number) => void = () => {},
): void {
  const write = () => {
    while (!response.destroyed) {
      onWritten(chunk.length);
      if (!response.write(chunk)) return;
    }
  };
  response.on('drain', write);
  write();
}
