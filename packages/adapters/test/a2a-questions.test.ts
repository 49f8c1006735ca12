import { type CallContext, FabricError, type InputRequest, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import {
  agentMessage,
  answerRpc,
  type Behaviour,
  gets,
  IDS,
  NO_STREAMS,
  openFakeA2a,
  sendJson,
  status,
  streams,
  task,
} from './fixtures/fake-a2a.ts';
import type { runCall } from './fixtures/run-call.ts';

/** The events and the end of a call in this context. */
async function runIn(adapter: Parameters<typeof runCall>[0], more: Partial<CallContext>) {
  const context = { signal: new AbortController().signal, log: silentLog, ...more };
  const events = [];
  try {
    for await (const event of adapter.call(exampleEnvelope('task'), context)) events.push(event);
    return { events, error: undefined };
  } catch (error) {
    return { events, error: FabricError.from(error) };
  }
}

describe('a question of an A2A agent', () => {
  const asksFor = (state: string, ...parts: readonly object[]) =>
    streams(task('TASK_STATE_WORKING'), {
      statusUpdate: { ...IDS, status: { state, message: agentMessage(...parts) } },
    });
  const answering = (...responses: readonly object[]) => {
    const asked: InputRequest[] = [];
    const ask = async (requests: readonly InputRequest[]) => {
      asked.push(...requests);
      return requests.map(({ id }, index) => ({ id, ...responses[index] }) as never);
    };
    return { asked, ask };
  };
  const first = (behaviour: Behaviour): Behaviour => {
    let isFirst = true;
    return (request, response) => {
      const chosen = isFirst ? behaviour : streams(status('TASK_STATE_COMPLETED', 'thanks'));
      isFirst = false;
      return chosen(request, response);
    };
  };

  it('in words is a question for a text, and the answer goes to its task', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: first(asksFor('TASK_STATE_INPUT_REQUIRED', { text: 'Which city?' })),
    });
    const { asked, ask } = answering({ action: 'accept', content: { text: 'Rome' } });
    const { events } = await runIn(fake.adapter, { ask });
    expect(asked).toMatchObject([
      { kind: 'text', message: 'Which city?', native: { parts: [{ text: 'Which city?' }] } },
    ]);
    expect(events.at(-1)).toMatchObject({ data: { answer: 'thanks' } });
    expect(fake.requests[1]?.params.message).toMatchObject({ ...IDS, parts: [{ text: 'Rome' }] });
  });

  it('is not taken for a new one while the task still shows it', async () => {
    const question = { state: 'TASK_STATE_INPUT_REQUIRED', message: agentMessage({ text: 'Q?' }) };
    const shown = task('', { status: question });
    const fake = await openFakeA2a(
      {
        SendMessage: (request, response) => answerRpc(response, request, { result: shown }),
        GetTask: gets(
          shown,
          task('TASK_STATE_COMPLETED', { history: [agentMessage({ text: 'A' })] }),
        ),
      },
      NO_STREAMS,
    );
    const { asked, ask } = answering({ action: 'accept', content: { text: 'x' } });
    const { events } = await runIn(fake.adapter, { ask });
    expect(asked).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ data: { answer: 'A' } });
  });

  it('to authenticate says where, and sends no secret', async () => {
    const url = 'https://login.example/consent';
    const fake = await openFakeA2a({
      SendStreamingMessage: first(
        asksFor('TASK_STATE_AUTH_REQUIRED', { text: 'Sign in' }, { data: { url } }),
      ),
      GetTask: gets(task('TASK_STATE_AUTH_REQUIRED')),
    });
    const { asked, ask } = answering({ action: 'accept', content: { token: 'secret' } });
    const { events } = await runIn(fake.adapter, { ask });
    expect(asked).toMatchObject([{ kind: 'auth', message: 'Sign in', url }]);
    expect(events.at(-1)).toMatchObject({ data: { answer: 'thanks' } });
    expect(JSON.stringify(fake.requests)).not.toContain('secret');
  });

  it('to authenticate is over when the agent went on by itself', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: asksFor('TASK_STATE_AUTH_REQUIRED', { text: 'Sign in' }),
      GetTask: gets(task('TASK_STATE_WORKING')),
      SubscribeToTask: streams(status('TASK_STATE_COMPLETED', 'signed in')),
    });
    const { events } = await runIn(fake.adapter, answering({ action: 'accept' }));
    expect(events.at(-1)).toMatchObject({ data: { answer: 'signed in' } });
    expect(fake.methods).toEqual(['SendStreamingMessage', 'GetTask', 'SubscribeToTask']);
  });

  it('that is declined is answered in words', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: first(asksFor('TASK_STATE_INPUT_REQUIRED', { text: 'Which?' })),
    });
    await runIn(fake.adapter, answering({ action: 'decline' }));
    expect(fake.requests[1]?.params.message.parts).toEqual([
      { text: 'The question was declined.' },
    ]);
  });

  it('that is cancelled cancels the task', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: asksFor('TASK_STATE_INPUT_REQUIRED', { text: 'Which?' }),
    });
    const { error } = await runIn(fake.adapter, answering({ action: 'cancel' }));
    expect(error?.code).toBe('CANCELLED');
    await expect.poll(() => fake.methods).toContain('CancelTask');
  });

  it('that waits for its answer keeps the task', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: asksFor('TASK_STATE_INPUT_REQUIRED', { text: 'Which?' }),
    });
    const ask = async () => {
      throw new FabricError('INPUT_REQUIRED', 'Later');
    };
    expect((await runIn(fake.adapter, { ask })).error?.code).toBe('INPUT_REQUIRED');
    await fake.adapter.close();
    expect(fake.methods).toEqual(['SendStreamingMessage']);
  });
});

describe('a handle of an A2A task', () => {
  it('is kept as soon as the task is named, and the context alone when it is over', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: streams(
        task('TASK_STATE_WORKING'),
        status('TASK_STATE_COMPLETED', 'done'),
      ),
    });
    const kept: unknown[] = [];
    await runIn(fake.adapter, { keep: (...given) => void kept.push(given) });
    expect(kept).toEqual([[IDS, { isRunning: true }], [{ contextId: IDS.contextId }]]);
  });

  it('ends the task when it is stopped, also one that is over', async () => {
    const fake = await openFakeA2a({});
    const context = { signal: new AbortController().signal, log: silentLog };
    await fake.adapter.stop?.(IDS, context);
    expect(fake.methods).toEqual(['CancelTask']);
    await fake.adapter.stop?.({ contextId: 'c' }, context);
    expect(fake.methods).toEqual(['CancelTask']);
    const error = { code: -32_002, message: 'over' };
    const over = await openFakeA2a({
      CancelTask: ({ id }, response) => sendJson(response, { jsonrpc: '2.0', id, error }),
    });
    await over.adapter.stop?.(IDS, context);
    expect(over.methods).toEqual(['CancelTask']);
  });
});
