import { type AgentHandle, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { runCall } from './fixtures/agent-world.ts';
import { streams } from './fixtures/profile-streams.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };

const delta = (content: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: content, finish_reason }],
});

describe('[G26] Chat Completions', () => {
  it('sends model, instructions, task and files, and asks for a stream', async () => {
    const { adapter, seen } = await streams('openai-chat', [delta({ content: 'x' }, 'stop')], {
      options: { model: 'm', system: 'Be brief', body: { temperature: 0, model: 'never' } },
    });
    const attachments = [
      { name: 'a.txt', media_type: 'text/plain', text: 'inside' },
      { media_type: 'image/png', data: 'AAAA' },
      { name: 'b.pdf', media_type: 'application/pdf', data: 'BBBB' },
    ];
    const context = { city: 'Rome', 'io.starloom/a2a': { message_id: 'm' } };
    const input = { task: 'look', context, attachments };
    await Array.fromAsync(adapter.call(exampleEnvelope('', { input }), CONTEXT));
    expect(seen).toMatchObject([
      {
        url: 'POST /chat/completions',
        body: {
          model: 'm',
          temperature: 0,
          stream: true,
          messages: [
            { role: 'system', content: 'Be brief' },
            {
              role: 'user',
              content: [
                {
                  type: 'text',
                  text: 'look\n\nContext, as JSON:\n{"city":"Rome"}\n\na.txt:\ninside',
                },
                { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
                { type: 'file', file: { filename: 'b.pdf' } },
              ],
            },
          ],
        },
      },
    ]);
  });

  it('puts tool calls together from their pieces, and leaves them to the caller', async () => {
    const piece = (index: number, more: object) => delta({ tool_calls: [{ index, ...more }] });
    const { adapter } = await streams('openai-chat', [
      piece(0, { id: 'c1', function: { name: 'add', arguments: '{"a"' } }),
      piece(1, { id: 'c2', function: { name: 'now', arguments: '' } }),
      piece(0, { function: { arguments: ':1}' } }),
      delta({}, 'tool_calls'),
      '[DONE]',
    ]);
    const { events } = await runCall(adapter);
    expect(events).toEqual([
      { type: 'tool_call', data: { id: 'c1', name: 'add', args: { a: 1 }, phase: 'start' } },
      { type: 'tool_call', data: { id: 'c2', name: 'now', args: {}, phase: 'start' } },
      {
        type: 'final',
        data: {
          answer: '',
          data: {
            tool_calls: [
              { id: 'c1', name: 'add', arguments: { a: 1 } },
              { id: 'c2', name: 'now', arguments: {} },
            ],
          },
        },
      },
    ]);
  });

  it.each([
    ['is cut off', [delta({ content: 'a' }, 'length')], 'UPSTREAM_ERROR', 'tool_error'],
    ['is filtered', [delta({ content: 'a' }, 'content_filter')], 'UPSTREAM_ERROR', 'tool_error'],
    ['ends too early', [delta({ content: 'a' })], 'UPSTREAM_ERROR', 'no_final'],
    ['is empty', ['[DONE]'], 'UPSTREAM_ERROR', 'no_final'],
    [
      'turns into an error',
      [delta({ content: 'a' }), { error: { message: 'key sk-1234567890', type: 'server_error' } }],
      'UPSTREAM_ERROR',
      'server_error',
    ],
    [
      'is limited',
      [{ error: { message: 'slow', code: 'rate_limit_exceeded' } }],
      'RATE_LIMITED',
      'agent_rate_limit',
    ],
    [
      'is too long',
      [{ error: { message: 'm', code: 'context_length_exceeded' } }],
      'UPSTREAM_ERROR',
      'tool_error',
    ],
  ])('that %s is no answer', async (_, events, code, reason) => {
    const headers = { authorization: 'Bearer sk-1234567890' };
    const { adapter } = await streams('openai-chat', events, { headers });
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code, details: { reason } });
    expect(JSON.stringify(error?.details)).not.toContain('sk-1234567890');
  });

  it('keeps the conversation in its handle, as many of the last turns as fit', async () => {
    const { adapter, seen } = await streams('openai-chat', [delta({ content: 'yes' }, 'stop')], {
      options: { history_bytes: 150 },
    });
    let handle: AgentHandle | undefined;
    const keep = (kept: AgentHandle) => {
      handle = kept;
    };
    for (const task of ['one', 'two', 'three']) {
      const envelope = exampleEnvelope(task);
      await Array.fromAsync(
        adapter.call(envelope, { ...CONTEXT, keep, ...(handle && { handle }) }),
      );
    }
    const contents = seen.map(({ body }) =>
      (body.messages as { content: string }[]).map(({ content }) => content),
    );
    expect(contents).toEqual([
      ['one'],
      ['one', 'yes', 'two'],
      ['one', 'yes', 'two', 'yes', 'three'],
    ]);
    expect(handle).toEqual({
      messages: [
        { role: 'user', content: 'two' },
        { role: 'assistant', content: 'yes' },
        { role: 'user', content: 'three' },
        { role: 'assistant', content: 'yes' },
      ],
    });
  });
});

const completed = (output: readonly object[], more: object = {}) => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', output, ...more },
});
const message = (text: string, annotations: readonly object[] = []) => ({
  type: 'message',
  content: [{ type: 'output_text', text, annotations }],
});

describe('[G26] Responses', () => {
  it('bring text, sources, thoughts and the tools that ran at the server', async () => {
    const call = { type: 'mcp_call', id: 'mcp_1', server_label: 'git', name: 'log' };
    const done = { ...call, arguments: '{"n":1}', output: 'abc' };
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
    const answer = message('hi', [{ type: 'url_citation', url: 'https://a.example', title: 'A' }]);
    const { adapter } = await streams('openai-responses', [
      { type: 'response.created', response: {} },
      { type: 'response.reasoning_summary_text.done', text: 'I look' },
      { type: 'response.output_item.added', item: { ...call, arguments: '' } },
      { type: 'response.output_item.done', item: done },
      { type: 'response.output_item.added', item: { ...search, status: 'in_progress' } },
      { type: 'response.output_item.added', item: answer },
      { type: 'response.output_text.delta', delta: 'hi' },
      { type: 'response.something_new' },
      completed([done, search, answer]),
      '[DONE]',
    ]);
    const { events } = await runCall(adapter);
    const log = { id: 'mcp_1', name: 'git.log', args: { n: 1 } };
    const web = { id: 'ws_1', name: 'web_search', args: {} };
    expect(events).toEqual([
      { type: 'status', data: { state: 'started' } },
      { type: 'progress', data: { message: 'I look' } },
      { type: 'tool_call', data: { ...log, phase: 'start' } },
      { type: 'tool_call', data: { ...log, phase: 'end', result: 'abc' } },
      { type: 'tool_call', data: { ...web, phase: 'start' } },
      { type: 'token', data: { text: 'hi' } },
      { type: 'tool_call', data: { ...web, phase: 'end', result: 'completed' } },
      {
        type: 'final',
        data: { answer: 'hi', citations: [{ uri: 'https://a.example', title: 'A' }] },
      },
    ]);
  });

  it('go on after the response before', async () => {
    const { adapter, seen } = await streams('openai-responses', [completed([message('x')])]);
    const kept: AgentHandle[] = [];
    const keep = (handle: AgentHandle) => void kept.push(handle);
    await Array.fromAsync(adapter.call(exampleEnvelope('one'), { ...CONTEXT, keep }));
    const [handle = {}] = kept;
    expect(handle).toEqual({ response_id: 'resp_1' });
    await Array.fromAsync(adapter.call(exampleEnvelope('two'), { ...CONTEXT, handle }));
    expect(seen.map(({ body }) => body.previous_response_id)).toEqual([undefined, 'resp_1']);
  });

  it.each([
    [
      'incomplete',
      { response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } },
      'tool_error',
    ],
    ['failed', { response: { status: 'failed', error: { code: 'server_error' } } }, 'server_error'],
  ])('that are %s are no answer', async (state, more, reason) => {
    const { adapter } = await streams('openai-responses', [{ type: `response.${state}`, ...more }]);
    expect((await runCall(adapter)).error?.details.reason).toBe(reason);
  });

  it('end with a whole response, or not at all', async () => {
    const { adapter } = await streams('openai-responses', [
      { type: 'response.output_text.delta', delta: 'hi' },
    ]);
    expect((await runCall(adapter)).error?.details.reason).toBe('no_final');
  });
});
