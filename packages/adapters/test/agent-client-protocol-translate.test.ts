import { type EventBody, ResultFold } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { Translator } from '../src/agent-client-protocol/translate.ts';

describe('updates of an editor agent as events', () => {
  it('become tokens, and the answer is all of them', () => {
    const events = translate([message('Hello '), message('there'), message('')]);
    expect(events).toEqual([
      { type: 'token', data: { text: 'Hello ' } },
      { type: 'token', data: { text: 'there' } },
      { type: 'final', data: { answer: 'Hello there' } },
    ]);
  });

  it('become progress when the agent thinks, plans or notes', () => {
    const entry = (status: string, content: string) => ({ content, priority: 'low', status });
    const events = translate([
      { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'Hm' } },
      { sessionUpdate: 'plan', entries: [entry('completed', 'a'), entry('in_progress', 'b')] },
      { sessionUpdate: 'plan', entries: [] },
      { sessionUpdate: 'notice', severity: 'warning', message: 'Slow today' },
    ]);
    expect(events.slice(0, -1)).toEqual([
      { type: 'progress', data: { message: 'Hm' } },
      { type: 'progress', data: { percent: 50, message: 'b' } },
      { type: 'progress', data: { message: 'Slow today' } },
    ]);
  });

  it('begin a tool call when its arguments are known, and end it once', () => {
    const events = translate([
      call({ title: 'Terminal', name: 'Bash', rawInput: {}, status: 'pending' }),
      update({ rawInput: { command: 'ls' }, title: 'ls' }),
      update({ status: 'in_progress' }),
      update({ status: 'completed', rawOutput: 'a.txt' }),
      update({ status: 'completed', rawOutput: 'again' }),
    ]);
    const base = { id: 't1', name: 'Bash', args: { command: 'ls' } };
    expect(events.slice(0, -1)).toEqual([
      { type: 'tool_call', data: { ...base, phase: 'start' } },
      { type: 'tool_call', data: { ...base, phase: 'end', result: 'a.txt' } },
    ]);
  });

  it('take updates of a call that was never announced', () => {
    const content = [{ type: 'content', content: { type: 'text', text: 'done' } }];
    const events = translate([update({ status: 'failed', title: 'Writes', content })]);
    expect(fold(events)?.tool_calls).toEqual([
      { id: 't1', name: 'Writes', args: {}, result: { failed: true, output: 'done' } },
    ]);
  });

  it('begin a tool call with the request for permission, and end what the agent left open', () => {
    const translator = new Translator();
    const toolCall = { toolCallId: 't1', title: 'Removes', rawInput: { path: 'a' } };
    const events = [...translator.permission(toolCall), ...translator.end()];
    const base = { id: 't1', name: 'Removes', args: { path: 'a' } };
    expect(events).toEqual([
      { type: 'tool_call', data: { ...base, phase: 'start' } },
      { type: 'tool_call', data: { ...base, phase: 'end' } },
      { type: 'final', data: { answer: '' } },
    ]);
  });

  it('become artifacts when the agent sends pictures, resources or links', () => {
    const events = translate([
      content({ type: 'image', data: 'QQ==', mimeType: 'image/png' }),
      content({ type: 'resource', resource: { uri: 'file:///w/a.md', text: '# A' } }),
      content({ type: 'resource_link', uri: 'https://example.com/b', name: 'B' }),
      content({ type: 'hologram', data: 'QQ==' }),
    ]);
    expect(fold(events)?.artifacts).toEqual([
      { id: 'artifact-1', media_type: 'image/png', data: 'QQ==' },
      { id: 'file:///w/a.md', name: 'a.md', media_type: 'text/plain', text: '# A' },
      {
        id: 'https://example.com/b',
        name: 'B',
        media_type: 'application/octet-stream',
        uri: 'https://example.com/b',
      },
    ]);
  });

  it('are taken whole when they carry an event of ours', () => {
    const carried = (type: string, data: unknown) => ({
      sessionUpdate: 'session_info_update',
      _meta: { 'io.starloom/event': { type, data } },
    });
    const citations = [{ uri: 'https://example.com/' }];
    const events = translate([
      message('text'),
      carried('final', { answer: '', citations, data: { n: 1 } }),
    ]);
    expect(events.at(-1)).toEqual({
      type: 'final',
      data: { answer: 'text', citations, data: { n: 1 } },
    });
    expect(() => translate([carried('token', { text: 7 })])).toThrow('malformed token');
  });

  it.each([
    ['no object', 7],
    ['a kind of a later version', { sessionUpdate: 'telepathy', thought: 'x' }],
    ['a message of the user', { sessionUpdate: 'user_message_chunk', content: { type: 'text' } }],
    ['a chunk without content', { sessionUpdate: 'agent_message_chunk' }],
    ['a tool call without id', { sessionUpdate: 'tool_call', title: 'x', status: 'completed' }],
    ['a plan that is none', { sessionUpdate: 'plan', entries: 'all' }],
  ])('pass over %s', (_, value) => {
    expect(translate([value])).toEqual([{ type: 'final', data: { answer: '' } }]);
  });
});

function translate(updates: readonly unknown[]): EventBody[] {
  const translator = new Translator();
  const events = updates.flatMap((each) => translator.update(each));
  return [...events, ...translator.end()];
}

function fold(events: readonly EventBody[]) {
  const result = new ResultFold();
  for (const body of events) result.add(body);
  return result.result();
}

function content(block: object) {
  return { sessionUpdate: 'agent_message_chunk', content: block };
}

function message(text: string) {
  return content({ type: 'text', text });
}

function call(fields: object) {
  return { sessionUpdate: 'tool_call', toolCallId: 't1', ...fields };
}

function update(fields: object) {
  return { sessionUpdate: 'tool_call_update', toolCallId: 't1', ...fields };
}
