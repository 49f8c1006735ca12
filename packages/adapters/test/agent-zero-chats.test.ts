import { type AgentHandle, FabricError, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import type { ZeroAgent, ZeroLane } from './fixtures/agent-zero-server.ts';
import { callZero as call, failureOf, openZero } from './fixtures/open-zero.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const echo: ZeroAgent = async ({ message }) => message;
const counting: ZeroAgent = async ({ turn }) => String(turn);

describe('a chat with Agent Zero', () => {
  it.each<ZeroLane>(['mcp', 'http'])('goes on with its handle: %s', async (lane) => {
    const { adapter } = await openZero(counting, { options: { lane } });
    let handle: AgentHandle = {};
    const keep = (kept: AgentHandle) => {
      handle = kept;
    };
    const answers = [];
    for (let round = 0; round < 3; round += 1) {
      answers.push((await call(adapter, { handle, keep })).at(-1)?.data);
    }
    expect(answers).toMatchObject([{ answer: '0' }, { answer: '1' }, { answer: '2' }]);
  });

  it.each<ZeroLane>(['mcp', 'http'])('that is gone is unknown_conversation: %s', async (lane) => {
    const { adapter } = await openZero(counting, { options: { lane } });
    const error = await failureOf(call(adapter, { handle: { chat: 'gone' } }));
    expect(error).toMatchObject({ code: 'BAD_INPUT', details: { reason: 'unknown_conversation' } });
  });

  it.each<ZeroLane>(['mcp', 'http'])('is not kept where chats are not: %s', async (lane) => {
    const options = { lane, keep_chats: false };
    const { adapter, server } = await openZero(counting, { options });
    const kept: AgentHandle[] = [];
    await call(adapter, { keep: (handle) => kept.push(handle) });
    expect(kept).toEqual([]);
    await expect.poll(() => server.chats.size).toBe(0);
  });

  it('keeps no conversation over a2a: each task has a chat of its own', async () => {
    const { adapter } = await openZero(counting, { options: { lane: 'a2a' } });
    const kept: AgentHandle[] = [];
    await call(adapter, { keep: (handle) => kept.push(handle) });
    expect(kept).toEqual([]);
  });

  it('reads text alone: what else the caller gave stands below the task', async () => {
    const { adapter } = await openZero(echo, { options: { lane: 'http' } });
    const input = { task: 'sum up', arguments: { task: 'sum up', words: 10 } };
    const [last] = (await call(adapter, {}, input)).slice(-1);
    const answer = 'sum up\n\nContext, as JSON:\n{"words":10}';
    expect(last).toMatchObject({ data: { answer } });
  });

  it('gets files as its interface takes them', async () => {
    const seen: unknown[] = [];
    const agent: ZeroAgent = async ({ attachments }) => {
      seen.push(...attachments);
      return 'ok';
    };
    const file = { media_type: 'text/plain', name: 'a.txt', text: 'hi' };
    const link = { media_type: 'text/html', uri: 'https://example.org/' };
    const send = async (lane: string, attachment: object) => {
      const { adapter } = await openZero(agent, { options: { lane } });
      return call(adapter, {}, { task: 'read', attachments: [attachment] });
    };
    await send('http', file);
    await send('mcp', link);
    await send('a2a', link);
    expect(seen).toEqual([
      { filename: 'a.txt', base64: 'aGk=' },
      'https://example.org/',
      { uri: 'https://example.org/', mimeType: 'text/html' },
    ]);
    expect(await failureOf(send('http', link))).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'attachments_unsupported', sent: false },
    });
  });
});

describe('the HTTP interface', () => {
  it('is found where versions before 1 have it', async () => {
    const { adapter, server } = await openZero(echo, { prefix: '', options: { lane: 'http' } });
    expect((await call(adapter)).at(-1)).toMatchObject({ data: { answer: 'hi' } });
    expect((await call(adapter)).at(-1)).toMatchObject({ data: { answer: 'hi' } });
    const tried = server.requests.filter((request) => request === 'POST /api/api_message');
    expect(tried).toHaveLength(1);
  });

  it('tells what the agent does while it does it, and nothing of earlier messages', async () => {
    const gate = Promise.withResolvers<void>();
    const agent: ZeroAgent = async ({ turn, log }) => {
      log({ type: 'agent', heading: `icon://x A0: turn ${turn}` });
      log({ type: 'code_exe', heading: 'run', kvps: { code: 'ls' }, content: 'a.txt' });
      if (turn > 0) await gate.promise;
      return 'done';
    };
    const { adapter } = await openZero(agent, { options: { lane: 'http' } });
    let handle: AgentHandle = {};
    const keep = (kept: AgentHandle) => {
      handle = kept;
    };
    const first = await call(adapter, { keep });
    expect(first.map(({ type }) => type)).toEqual(['progress', 'tool_call', 'tool_call', 'final']);
    const events = [];
    for await (const event of adapter.call(exampleEnvelope('go on'), { ...CONTEXT, handle })) {
      events.push(event);
      if (event.type === 'tool_call') gate.resolve();
    }
    expect(events).toEqual([
      { type: 'progress', data: { message: 'A0: turn 1' } },
      {
        type: 'tool_call',
        data: { id: 'log-6', name: 'code_exe', args: { code: 'ls' }, phase: 'start' },
      },
      {
        type: 'tool_call',
        data: {
          id: 'log-6',
          name: 'code_exe',
          args: { code: 'ls' },
          phase: 'end',
          result: 'a.txt',
        },
      },
      { type: 'final', data: { answer: 'done' } },
    ]);
  });

  it.each([
    ['is missing', 404, 'text/html', '<html>'],
    [
      'is garbage',
      200,
      'application/json',
      '{"log":{"items":[7,{"no":"x"},{"no":-1,"type":"tool"}]}}',
    ],
    ['is no JSON', 200, 'application/json', '{'],
  ])('does without a log that %s', async (_, status, type, body) => {
    const { adapter } = await openZero(echo, {
      options: { lane: 'http' },
      instead: (request, response) => {
        if (!request.url?.endsWith('api_log_get')) return false;
        response.writeHead(status, { 'content-type': type }).end(body);
        return true;
      },
    });
    expect(await call(adapter)).toEqual([{ type: 'final', data: { answer: 'hi' } }]);
  });

  it.each([
    [true, 0],
    [false, 1],
  ])('ends a cancelled chat where that is set: %s', async (terminate_on_cancel, left) => {
    const agent: ZeroAgent = ({ turn, signal }) =>
      turn === 0
        ? Promise.resolve('ok')
        : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const options = { lane: 'http', terminate_on_cancel };
    const { adapter, server } = await openZero(agent, { options });
    let handle: AgentHandle = {};
    const keep = (kept: AgentHandle) => {
      handle = kept;
    };
    await call(adapter, { keep });
    const control = new AbortController();
    const cancelled = failureOf(call(adapter, { handle, signal: control.signal }));
    await expect.poll(() => [...server.chats.values()][0]?.turns).toBe(2);
    control.abort(new FabricError('CANCELLED', 'Never mind'));
    expect((await cancelled).code).toBe('CANCELLED');
    await expect.poll(() => server.chats.size).toBe(left);
  });
});
