import { type AgentHandle, type EventBody, FabricError, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { abortWhen, eventually, runCall } from './fixtures/agent-world.ts';
import { streams } from './fixtures/profile-streams.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };

const finished = (more: object = {}) => ({
  type: 'RUN_FINISHED',
  threadId: 't',
  runId: 'r',
  ...more,
});

describe('[G26] AG-UI', () => {
  it('sends one run input, and takes the texts of the agent alone', async () => {
    const text = (messageId: string, said: string) => ({
      type: 'TEXT_MESSAGE_CONTENT',
      messageId,
      delta: said,
    });
    const { adapter, seen } = await streams(
      'ag-ui',
      [
        { type: 'TEXT_MESSAGE_START', messageId: 'u', role: 'user' },
        text('u', 'echo of the user'),
        { type: 'REASONING_MESSAGE_CONTENT', messageId: 'r', delta: 'hm' },
        { type: 'REASONING_MESSAGE_END', messageId: 'r' },
        { type: 'STEP_STARTED', stepName: 'plan' },
        { type: 'TEXT_MESSAGE_START', messageId: 'a', role: 'assistant' },
        text('a', 'one'),
        { type: 'TEXT_MESSAGE_CHUNK', messageId: 'b', role: 'assistant', delta: 'two' },
        { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/x', value: 1 }] },
        finished({ result: { n: 1 } }),
        text('a', 'late'),
      ],
      { options: { forwarded: { theme: 'dark' } } },
    );
    const { events } = await runCall(adapter, 'hi');
    expect(events).toEqual([
      { type: 'progress', data: { message: 'hm' } },
      { type: 'progress', data: { message: 'plan' } },
      { type: 'token', data: { text: 'one' } },
      { type: 'token', data: { text: '\n\ntwo' } },
      { type: 'final', data: { answer: 'one\n\ntwo', data: { n: 1 } } },
    ]);
    expect(seen[0]?.body).toMatchObject({
      threadId: expect.any(String),
      runId: expect.any(String),
      messages: [{ id: 'message-1', role: 'user', content: 'hi' }],
      tools: [],
      context: [],
      forwardedProps: { theme: 'dark' },
    });
  });

  it('goes on in the same thread', async () => {
    const { adapter, seen } = await streams('ag-ui', [finished()]);
    const handle = { thread_id: 'thread-7' };
    await Array.fromAsync(adapter.call(exampleEnvelope('x'), { ...CONTEXT, handle }));
    expect(seen[0]?.body.threadId).toBe('thread-7');
  });

  it.each([
    ['an error', [{ type: 'RUN_ERROR', message: 'boom', code: 'X' }], 'tool_error'],
    ['a cancelled run', [finished({ outcome: { type: 'cancelled' } })], 'tool_error'],
    [
      'a question without an id',
      [finished({ outcome: { type: 'interrupt', interrupts: [{ reason: 'x' }] } })],
      'bad_result',
    ],
    ['an event without a type', [{ delta: 'x' }], 'bad_result'],
    ['a token that is none', [{ type: 'TEXT_MESSAGE_CONTENT', delta: 7 }], 'bad_result'],
    ['a tool call without an id', [{ type: 'TOOL_CALL_START' }], 'bad_result'],
    ['no end', [{ type: 'RUN_STARTED' }], 'no_final'],
  ])('with %s is UPSTREAM_ERROR', async (_, events, reason) => {
    const { adapter } = await streams('ag-ui', events);
    expect((await runCall(adapter)).error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason },
    });
  });
});

const state = (content: unknown, more: object = {}) => [
  'values',
  {
    messages: [
      { type: 'human', content: 'q' },
      { type: 'ai', content },
    ],
    ...more,
  },
];

describe('[G26] a LangGraph server', () => {
  it('offers each assistant as a capability, and runs it on a thread', async () => {
    const { adapter, seen } = await streams('langgraph', [state('hello')], { discovers: true });
    const { capabilities } = await adapter.describe(CONTEXT);
    expect(capabilities).toMatchObject([
      { name: 'echo', tool: '046b5dc7', description: 'Echoes' },
      { name: expect.stringMatching(/^my-graph-/), tool: 'a2' },
    ]);
    const target = { agent_id: 'subject', capability: 'echo' };
    const envelope = exampleEnvelope('hi', { target });
    const kept: AgentHandle[] = [];
    const keep = (handle: AgentHandle) => void kept.push(handle);
    const events = await Array.fromAsync(adapter.call(envelope, { ...CONTEXT, keep }));
    expect(events).toEqual([{ type: 'final', data: { answer: 'hello' } }]);
    const [, run] = seen;
    expect(run?.url).toMatch(/^POST \/threads\/[\w-]{36}\/runs\/stream$/);
    expect(run?.body).toMatchObject({
      assistant_id: '046b5dc7',
      input: { messages: [{ role: 'user', content: 'hi' }] },
      on_disconnect: 'cancel',
      if_not_exists: 'create',
    });
    const [handle = {}] = kept;
    await Array.fromAsync(adapter.call(envelope, { ...CONTEXT, handle }));
    expect(seen.at(-1)?.url).toBe(run?.url);
  });

  it('brings tokens, tools and progress as the graph works', async () => {
    const call = { id: 'c1', name: 'add', args: { a: 1 } };
    const { adapter } = await streams('langgraph', [
      ['metadata', { run_id: 'r1' }],
      ['custom', { progress: 0.5 }],
      ['messages', [{ type: 'AIMessageChunk', content: [{ type: 'text', text: 'hel' }] }, {}]],
      ['messages', [{ type: 'human', content: 'not ours' }, {}]],
      ['updates', { agent: { messages: [{ type: 'ai', content: '', tool_calls: [call] }] } }],
      ['updates', { tools: { messages: { type: 'tool', tool_call_id: 'c1', content: '3' } } }],
      ['updates', { node: { messages: [['ai', 'a tuple']] } }],
      ['messages', [{ type: 'AIMessageChunk', content: 'lo' }, {}]],
      state('hello', { total: 3 }),
    ]);
    expect((await runCall(adapter)).events).toEqual<EventBody[]>([
      { type: 'progress', data: { percent: 50, message: '{"progress":0.5}' } },
      { type: 'token', data: { text: 'hel' } },
      { type: 'tool_call', data: { ...call, phase: 'start' } },
      { type: 'tool_call', data: { ...call, phase: 'end', result: '3' } },
      { type: 'token', data: { text: 'lo' } },
      { type: 'final', data: { answer: 'hello', data: { total: 3 } } },
    ]);
  });

  it('begins with a state of its own, and ends with an answer of its own', async () => {
    const { adapter, seen } = await streams('langgraph', [['values', { out: { text: 'x' } }]], {
      options: { input: { question: { $from: '/task' } }, answer: '/out/text', assistant: 'qa' },
    });
    expect((await runCall(adapter, 'why')).answer).toBe('x');
    expect(seen[0]?.body).toMatchObject({ assistant_id: 'qa', input: { question: 'why' } });
  });

  it.each([
    ['a failed run', [['error', { error: 'ValueError', message: 'boom' }]], 'tool_error'],
    ['an error inside of the state', [['values', { __error__: { message: 'x' } }]], 'tool_error'],
    ['no state', [['metadata', { run_id: 'r' }]], 'no_final'],
    ['a state that is none', [['values', [1]]], 'bad_result'],
    ['a question without an id', [['updates', { __interrupt__: [{ value: 1 }] }]], 'bad_result'],
  ])('with %s is UPSTREAM_ERROR', async (_, events, reason) => {
    const { adapter } = await streams('langgraph', events);
    expect((await runCall(adapter)).error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason },
    });
  });

  it('cancels the run of a call that is left', async () => {
    const token = ['messages', [{ type: 'AIMessageChunk', content: 'a' }, {}]];
    const events = [['metadata', { run_id: 'r1' }], token];
    const { adapter, seen } = await streams('langgraph', events, {}, 'hang');
    const reached = expect.poll(() => seen.length, eventually).toBe(1);
    const { error } = await runCall(adapter, '', abortWhen(reached));
    expect(FabricError.is(error) && error.code).toBe('TIMEOUT');
    await expect.poll(() => seen.at(-1)?.url, eventually).toMatch(/\/runs\/r1\/cancel$/);
  });
});
