import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { abortWhen, runCall } from './fixtures/agent-world.ts';
import type { ZeroAgent } from './fixtures/agent-zero-server.ts';
import { hostileHttpAgent } from './fixtures/hostile-http.ts';
import { openZero, openZeroAdapter } from './fixtures/open-zero.ts';

const completed = (id = 'task-1') => ({
  id,
  status: { state: 'completed' },
  history: [{ role: 'agent', parts: [{ kind: 'text', text: 'fine' }] }],
});

hostileHttpAgent('agent-zero, http', {
  open: (uri, bytes) => openLane(uri, 'http', bytes),
  serve: ({ url }, response) => {
    const isLog = url?.endsWith('api_log_get');
    json(response, isLog ? { log: { items: [] } } : { context_id: 'c', response: 'fine' });
  },
});

hostileHttpAgent('agent-zero, a2a', {
  open: (uri, bytes) => openLane(uri, 'a2a', bytes),
  serve: (request, response) => void answer(request, response, { result: completed() }),
});

function openLane(uri: string, lane: string, max_result_bytes: number) {
  return openZeroAdapter(uri, { options: { lane, max_result_bytes } });
}

/** An A2A server that answers `message/send` and `tasks/get` with what is given. */
async function tasks(sent: object, got: object = sent) {
  const methods: string[] = [];
  const world = await openZero(async () => '', {
    options: { lane: 'a2a' },
    instead: (request, response) => {
      void (async () => {
        const { id, method } = JSON.parse(await text(request));
        methods.push(method);
        json(response, { jsonrpc: '2.0', id, ...(method === 'message/send' ? sent : got) });
      })();
      return true;
    },
  });
  return { ...world, methods };
}

const working = { id: 'task-1', status: { state: 'working' }, history: [] };

describe('[G23] a task of the A2A interface', () => {
  it('is polled until it is over, and says when its state changes', async () => {
    const { adapter } = await tasks({ result: working }, { result: completed() });
    const { events, answer } = await runCall(adapter);
    expect(answer).toBe('fine');
    expect(events[0]).toEqual({ type: 'progress', data: { message: 'working' } });
  });

  it('may bring artifacts and data', async () => {
    const parts = [
      { kind: 'text', text: 'found' },
      { kind: 'data', data: { n: 1 } },
    ];
    const task = {
      id: 'task-1',
      status: { state: 'completed' },
      artifacts: [{ artifactId: 'r', name: 'result', parts }],
    };
    const { adapter } = await tasks({ result: task });
    expect((await runCall(adapter)).events).toEqual([
      {
        type: 'artifact',
        data: { id: 'r', name: 'result', media_type: 'text/plain', text: 'found' },
      },
      { type: 'final', data: { answer: 'found', data: { n: 1 } } },
    ]);
  });

  it.each([
    ['another task', { result: completed('task-2') }, 'wrong_task'],
    ['no task', { result: { id: 7 } }, 'bad_result'],
    ['an answer to another request', { id: 'x', result: completed() }, 'bad_result'],
    ['neither result nor error', {}, 'bad_result'],
    ['an error of its own', { error: { code: -32_001, message: 'Task not found' } }, 'tool_error'],
    ['an internal error', { error: { code: -32_603, message: 'm' } }, 'rpc_error'],
    ['a failed task', { result: { ...working, status: { state: 'failed' } } }, 'tool_error'],
    [
      'a task cancelled elsewhere',
      { result: { ...working, status: { state: 'canceled' } } },
      'tool_error',
    ],
    ['a question', { result: { ...working, status: { state: 'input-required' } } }, 'tool_error'],
  ])('that turns into %s is UPSTREAM_ERROR', async (_, got, reason) => {
    const { adapter } = await tasks({ result: working }, got);
    expect((await runCall(adapter)).error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason },
    });
  });

  it('is cancelled only after it was seen alive: an unknown one would stop the agent', async () => {
    const reached = Promise.withResolvers<void>();
    const agent: ZeroAgent = ({ signal }) => {
      reached.resolve();
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    };
    const methods: string[] = [];
    const { adapter } = await openZero(agent, {
      options: { lane: 'a2a' },
      instead: (request) => {
        request.on('data', (chunk) => methods.push(JSON.parse(String(chunk)).method));
        return false;
      },
    });
    await runCall(adapter, 'hang', abortWhen(reached.promise));
    await expect.poll(() => methods.at(-1)).toBe('tasks/cancel');
    expect(methods.at(-2)).toBe('tasks/get');
  });

  it('is not cancelled when it is over by then', async () => {
    const got: { result: object } = { result: working };
    const { adapter, methods } = await tasks({ result: working }, got);
    const control = new AbortController();
    const outcome = runCall(adapter, 'hang', control.signal);
    await expect.poll(() => methods).toContain('tasks/get');
    got.result = { ...working, status: { state: 'failed' } };
    control.abort(new FabricError('TIMEOUT', 'Too slow'));
    await outcome;
    const before = methods.length;
    await expect.poll(async () => (await runCall(adapter)).error !== undefined).toBe(true);
    expect(methods.slice(before - 1)).toContain('tasks/get');
    expect(methods).not.toContain('tasks/cancel');
  });

  it('is not cancelled when the agent no longer knows it', async () => {
    const lost = { error: { code: -32_001, message: 'Task not found' } };
    const { adapter, methods } = await tasks({ result: working }, lost);
    await runCall(adapter);
    await expect.poll(() => methods.filter((method) => method === 'tasks/get').length).toBe(2);
    expect(methods).not.toContain('tasks/cancel');
  });
});

async function answer(request: IncomingMessage, response: ServerResponse, more: object) {
  const { id } = JSON.parse(await text(request));
  json(response, { jsonrpc: '2.0', id, ...more });
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
