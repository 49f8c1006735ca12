import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { FabricError } from '@starloom/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  agentMessage,
  answerRpc,
  artifact,
  type Behaviour,
  type FakeA2aOptions,
  IDS,
  openFakeA2a,
  openStream,
  sendJson,
  status,
  streams,
  task,
  taskOf,
  toEvent,
} from './fixtures/fake-a2a.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

const MiB = 1_048_576;

/** The agent behaves as the test says on the task `bad`, and well on every other. */
function withBehaviour(bad: Behaviour, options: FakeA2aOptions = {}) {
  const SendStreamingMessage: Behaviour = (request, response) => {
    if (taskOf(request) === 'bad') return bad(request, response);
    return streams({ message: agentMessage({ text: taskOf(request) }) })(request, response);
  };
  return openFakeA2a({ SendStreamingMessage }, options);
}

const LIMITS = { max_result_bytes: MiB, max_stream_bytes: 4 * MiB };

function timeoutSoon(): AbortSignal {
  const control = new AbortController();
  setTimeout(() => control.abort(new FabricError('TIMEOUT', 'Too slow')), 150).unref();
  return control.signal;
}

describe('[G28] an A2A agent that misbehaves', () => {
  it.each<[what: string, reason: string, code: string, bad: Behaviour]>([
    [
      'answers with a page',
      'invalid_json',
      'UPSTREAM_ERROR',
      (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hi</p>'),
    ],
    [
      'answers with JSON that is no JSON-RPC',
      'bad_answer',
      'UPSTREAM_ERROR',
      (_, response) => sendJson(response, { answer: 42 }),
    ],
    [
      'says 200 with an error inside',
      'rpc_error',
      'UPSTREAM_ERROR',
      (request, response) =>
        answerRpc(response, request, { error: { code: -32_603, message: 'broken' } }),
    ],
    [
      'says in its stream that the parameters are wrong',
      'invalid_params',
      'BAD_INPUT',
      (request, response) => {
        const error = { code: -32_602, message: 'no' };
        const data = JSON.stringify({ jsonrpc: '2.0', id: request.id, error });
        openStream(response).end(`data: ${data}\n\n`);
      },
    ],
    [
      'answers a request that was not made',
      'bad_answer',
      'UPSTREAM_ERROR',
      ({ id }, response) =>
        openStream(response).end(toEvent({ id: id + 1 }, task('TASK_STATE_COMPLETED'))),
    ],
    [
      'sends events of another task',
      'wrong_task',
      'UPSTREAM_ERROR',
      streams(task('TASK_STATE_WORKING'), {
        statusUpdate: { ...IDS, taskId: 'task-2', status: { state: 'TASK_STATE_COMPLETED' } },
      }),
    ],
    ['ends its stream without a word', 'no_final', 'UPSTREAM_ERROR', streams()],
    [
      'streams what is no JSON',
      'invalid_json',
      'UPSTREAM_ERROR',
      (_, response) => openStream(response).end('data: hello?\n\n'),
    ],
    [
      'sends a list with a hole in it',
      'bad_answer',
      'UPSTREAM_ERROR',
      streams({ message: { messageId: 'm', role: 'ROLE_AGENT', parts: [null] } }),
    ],
    [
      'sends bytes that are not UTF-8',
      'invalid_utf8',
      'UPSTREAM_ERROR',
      (_, response) => {
        openStream(response);
        response.end(
          Buffer.concat([
            Buffer.from('data: {"a":"'),
            Buffer.from([0xff, 0xfe]),
            Buffer.from('"}\n\n'),
          ]),
        );
      },
    ],
    [
      'answers with too many values',
      'too_many_values',
      'UPSTREAM_ERROR',
      (request, response) => {
        const parts = [{ data: Array(400_000).fill(0) }];
        answerRpc(response, request, { result: { message: { messageId: 'm', parts } } });
      },
    ],
    [
      'nests its data too deep',
      'bad_answer',
      'UPSTREAM_ERROR',
      (request, response) => {
        let data: unknown = 1;
        for (let depth = 0; depth < 136; depth += 1) data = [data];
        streams({ message: agentMessage({ data }) })(request, response);
      },
    ],
    [
      'announces an answer that is too large',
      'result_too_large',
      'UPSTREAM_ERROR',
      (_, response) => {
        response.writeHead(200, {
          'content-type': 'application/json',
          'content-length': 100 * MiB,
        });
        response.write('{');
      },
    ],
    [
      'goes away before it answers',
      'connection_lost',
      'AGENT_OFFLINE',
      (_, response) => response.socket?.destroy(),
    ],
    [
      'sends us elsewhere',
      'redirect',
      'UPSTREAM_ERROR',
      (_, response) => response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
    ],
    [
      'does not know us',
      'agent_denied',
      'AUTH_DENIED',
      (_, response) => response.writeHead(401).end(),
    ],
    [
      'does not let us, in an answer of its own',
      'agent_denied',
      'AUTH_DENIED',
      (request, response) =>
        sendJson(
          response,
          { jsonrpc: '2.0', id: request.id, error: { code: 1, message: 'no' } },
          403,
        ),
    ],
    [
      'takes no more calls',
      'agent_rate_limit',
      'RATE_LIMITED',
      (_, response) => response.writeHead(429, { 'retry-after': '2' }).end(),
    ],
    [
      'is closed',
      'agent_unavailable',
      'AGENT_OFFLINE',
      (_, response) => response.writeHead(503).end(),
    ],
    [
      'breaks',
      'http_status',
      'UPSTREAM_ERROR',
      (_, response) => response.writeHead(500).end('oops'),
    ],
    [
      'refuses the request itself',
      'tool_error',
      'UPSTREAM_ERROR',
      (_, response) => response.writeHead(422).end('no such city'),
    ],
  ])('that %s fails with %s, and serves the next call', async (_, reason, code, bad) => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => written.mockRestore());
    const { adapter } = await withBehaviour(bad, { options: LIMITS });
    const [error, other] = await Promise.all([
      failedCall(adapter, 'bad'),
      runCall(adapter, 'fine'),
    ]);
    expect(error).toMatchObject({ code, details: { reason, agent_id: 'subject' } });
    expect(error.details.sent).toBeUndefined();
    expect(other.result?.answer).toBe('fine');
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
    expect(written).not.toHaveBeenCalled();
  });

  it.each([
    ['what is no JSON', 'data: hello?\n\n', 'invalid_json'],
    ['a list with a hole', 'data: {"message": {"parts": [null]}}\n\n', 'bad_answer'],
    ['an error as an item', 'data: {"error": {"code": 500, "message": "no"}}\n\n', 'rpc_error'],
  ])('over REST that streams %s fails, and nothing of it is printed', async (_, data, reason) => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => written.mockRestore());
    const { adapter } = await openFakeA2a(
      { '/rest/message:stream': (_, response) => openStream(response).end(data) },
      { binding: 'HTTP+JSON' },
    );
    expect((await failedCall(adapter, 'bad')).details.reason).toBe(reason);
    expect(written).not.toHaveBeenCalled();
  });

  it.each([
    [500, 'UPSTREAM_ERROR'],
    [503, 'AGENT_OFFLINE'],
    [504, 'TIMEOUT'],
  ])(
    'over REST with status %i and an error as its body is %s, as for every agent',
    async (code, ours) => {
      const { adapter } = await openFakeA2a(
        {
          '/rest/message:stream': (_, response) => {
            response.writeHead(code, { 'content-type': 'application/json' });
            response.end(JSON.stringify({ error: { code, message: 'no' } }));
          },
        },
        { binding: 'HTTP+JSON' },
      );
      expect(await failedCall(adapter, 'bad')).toMatchObject({ code: ours });
    },
  );

  it.each<[what: string, reason: string, chunk: string]>([
    ['an event without an end', 'event_too_large', `data: ${'x'.repeat(65_536)}`],
    ['a stream without an end', 'stream_too_large', toEvent({ id: 1 }, task('TASK_STATE_WORKING'))],
  ])('is cut off when it sends %s', async (_, reason, chunk) => {
    let written = 0;
    const { adapter } = await withBehaviour(
      (request, response) => {
        const first = toEvent(request, task('TASK_STATE_WORKING'));
        const next = reason === 'stream_too_large' ? first : chunk.replace(/^data: /, '');
        openStream(response).write(reason === 'stream_too_large' ? first : 'data: ');
        const more = () => {
          while (!response.destroyed && written < 1_024 * MiB) {
            written += next.length;
            if (!response.write(next)) return response.once('drain', more);
          }
        };
        more();
      },
      { options: LIMITS },
    );
    expect((await failedCall(adapter, 'bad')).details.reason).toBe(reason);
    expect(written).toBeLessThan(64 * MiB);
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it('ends with its first final, whatever it says after that', async () => {
    const { adapter } = await withBehaviour(
      streams(
        task('TASK_STATE_WORKING'),
        status('TASK_STATE_COMPLETED', 'first'),
        status('TASK_STATE_COMPLETED', 'second'),
        artifact('late'),
        status('TASK_STATE_FAILED', 'third'),
      ),
    );
    const { events } = await runCall(adapter, 'bad');
    expect(events).toMatchObject([{ type: 'final', data: { answer: 'first' } }]);
  });

  it('passes over items that A2A does not have', async () => {
    const { adapter } = await withBehaviour(
      streams(
        task('TASK_STATE_WORKING'),
        { kind: 'status-update', final: true },
        {},
        status('TASK_STATE_COMPLETED', 'done'),
      ),
    );
    expect((await runCall(adapter, 'bad')).result?.answer).toBe('done');
  });

  it.each<[what: string, bad: Behaviour]>([
    ['before its headers', () => {}],
    ['inside its headers', (_, response) => void response.socket?.write('HTTP/1.1 200 OK\r\nx-')],
    ['inside its stream', (_, response) => void openStream(response)],
  ])('stops with the reason of the signal when the agent hangs %s', async (_, bad) => {
    const { adapter } = await withBehaviour(bad);
    await runCall(adapter, 'first');
    expect((await failedCall(adapter, 'bad', { signal: timeoutSoon() })).code).toBe('TIMEOUT');
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it('is left in time behind a socket that is half open, and serves the next call', async () => {
    const { adapter } = await withBehaviour((_, response) => void response.socket?.end());
    await runCall(adapter, 'first');
    const { code } = await failedCall(adapter, 'bad', { signal: timeoutSoon() });
    expect(['AGENT_OFFLINE', 'TIMEOUT']).toContain(code);
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it('gives back no secret that it was sent', async () => {
    const { adapter } = await withBehaviour(
      (_, response) => response.writeHead(500).end('you sent Bearer very-secret-token'),
      { headers: { Authorization: 'Bearer very-secret-token' } },
    );
    const error = await failedCall(adapter, 'bad');
    expect(JSON.stringify(error.details)).not.toContain('very-secret-token');
  });

  it('is not taken for an agent when it does not speak HTTP', async () => {
    const server = createServer((socket) => socket.end('220 mail.example ESMTP\r\n'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { adapter } = await openFakeA2a(
      {},
      {
        card: {
          supportedInterfaces: [
            {
              url: `http://127.0.0.1:${port}/`,
              protocolBinding: 'JSONRPC',
              protocolVersion: '1.0',
            },
          ],
        },
        options: { origins: [`http://127.0.0.1:${port}`] },
      },
    );
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'invalid_http' },
    });
  });
});
