import { ResultFold } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { runCall } from './fixtures/agent-world.ts';
import { openRuns } from './fixtures/open-runs.ts';
import type { RunAgent, SeenPart } from './fixtures/run-server.ts';

const text = (content: string): SeenPart => ({ content_type: 'text/plain', content });
const trajectory = (metadata: object): SeenPart => ({
  content: '',
  metadata: { kind: 'trajectory', ...metadata },
});

async function eventsOf(agent: RunAgent, options: object = {}) {
  const { adapter } = await openRuns(agent, { options: { ...options } });
  const { events, error } = await runCall(adapter);
  if (error) throw error;
  const fold = new ResultFold();
  for (const event of events) fold.add(event);
  return { events, result: fold.result() };
}

const everything: RunAgent = async ({ part, message, generic }) => {
  generic({ message: 'half way', percent: 50 });
  generic({ thought: 'hm' });
  generic([1, 2]);
  part(trajectory({ message: 'adding', tool_name: 'add', tool_input: { a: 1 } }));
  part(text('one '));
  part(trajectory({ tool_name: 'add', tool_output: 2 }));
  part({ content_type: 'text/plain', content_encoding: 'base64', content: 'dHdv' });
  part({ name: 'a.csv', content_type: 'text/csv', content: 'a,b\n' });
  part({ name: 'a.csv', content_type: 'text/csv', content: '1,2\n' });
  part({ content_type: 'image/png', content_encoding: 'base64', content: 'iVBO' });
  message();
  part({ name: 'a.csv', content_type: 'text/csv', content: 'newer' });
  part({ content_type: 'application/json', content: '{"total":2}' });
  part({
    content: 'three',
    metadata: { kind: 'citation', url: 'https://example.org/', title: 'Example', start_index: 0 },
  });
};

const RESULT = {
  answer: 'one two\nthree',
  data: { total: 2 },
  citations: [{ uri: 'https://example.org/', title: 'Example', start_index: 0 }],
  tool_calls: [{ id: 'call-1', name: 'add', args: { a: 1 }, result: 2 }],
  artifacts: [
    { id: 'a.csv', name: 'a.csv', media_type: 'text/csv', text: 'newer' },
    { id: 'part-1', media_type: 'image/png', data: 'iVBO' },
  ],
};

describe('the events of a run', () => {
  it.each(['stream', 'async'])('come as ours, over %s runs', async (mode) => {
    const { events, result } = await eventsOf(everything, { mode });
    expect(result).toEqual(RESULT);
    const said = events.flatMap(({ type, data }) => (type === 'progress' ? [data] : []));
    expect(said).toEqual([
      { percent: 50, message: 'half way' },
      { message: 'hm' },
      { message: '[1,2]' },
      { message: 'adding' },
    ]);
    const tokens = events.flatMap(({ type, data }) => (type === 'token' ? data.text : []));
    expect(tokens).toEqual(['one ', 'two', 'three']);
  });

  it('are made from the output of a run that came at once', async () => {
    const { events, result } = await eventsOf(everything, { mode: 'sync' });
    expect(result).toEqual(RESULT);
    expect(events.some(({ type }) => type === 'token')).toBe(false);
  });

  it('keep documents apart, and what is no document as a text', async () => {
    const { result } = await eventsOf(async ({ part }) => {
      part({ content_type: 'application/json', content: '{"a":1}' });
      part({ content_type: 'application/json', content: '{"a":' });
      part({ content_type: 'application/json', content: '['.repeat(9_000) + ']'.repeat(9_000) });
    });
    expect(result?.data).toEqual([{ a: 1 }, '{"a":', expect.stringMatching(/^\[{9000}/)]);
  });
});
