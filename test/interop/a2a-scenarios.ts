// What every A2A agent of another project goes through. The agents behave the same by the first word of
// the message.

import type { Client } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { callWithEvents } from '../support/connect.ts';

export function a2aScenarios(agent_id: string, client: () => Client): void {
  const call = async (task: string, more: Record<string, unknown> = {}) => {
    const asked = { agent_id, capability: 'work', task, stream: true, ...more };
    const { result, events } = await callWithEvents(client(), 'fabric.call', asked);
    // biome-ignore lint/suspicious/noExplicitAny: the payload is read, not computed with
    return { payload: result.structuredContent as any, events };
  };

  it('streams its answer', async () => {
    const { payload, events } = await call('stream one two three');
    expect(payload).toMatchObject({ ok: true, result: { answer: 'onetwothree' } });
    expect(payload.result.artifacts).toMatchObject([{ id: 'answer', text: 'onetwothree' }]);
    const texts = events.flatMap((event) => (event.type === 'token' ? event.data.text : []));
    expect(texts.join('')).toBe('onetwothree');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'progress', data: { message: 'working' } }),
    );
  });

  it('answers with its own error', async () => {
    const { payload } = await call('fail');
    expect(payload.error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'tool_error', upstream: 'no such city' },
    });
  });

  it('asks, and goes on with the answer', async () => {
    const { payload } = await call('ask');
    expect(payload.error).toMatchObject({
      code: 'INPUT_REQUIRED',
      details: { inputs: [{ kind: 'text', message: 'Which city?' }] },
    });
    const { conversation_id, inputs } = payload.error.details;
    const response = { action: 'accept', content: { text: 'Rome' } };
    const answered = await call('ask', {
      conversation_id,
      inputs: [{ id: inputs[0].id, response }],
    });
    expect(answered.payload).toMatchObject({ ok: true, result: { answer: 'you said Rome' } });
  });

  it('keeps a conversation', async () => {
    const { payload } = await call('remember blue');
    const { conversation_id } = payload;
    expect((await call('recall', { conversation_id })).payload.result.answer).toBe('blue');
    expect((await call('recall')).payload.result.answer).toBe('nothing');
  });

  it('is cancelled when time is up', async () => {
    const before = Number((await call('cancelled')).payload.result.answer);
    const { payload } = await call('hang', { timeout_ms: 500 });
    expect(payload.error.code).toBe('TIMEOUT');
    await expect
      .poll(async () => Number((await call('cancelled')).payload.result.answer))
      .toBe(before + 1);
  });
}
