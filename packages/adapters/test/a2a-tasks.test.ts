import { CLAIM_LOST, FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import {
  agentMessage,
  answerRpc,
  artifact,
  type Behaviour,
  gets,
  IDS,
  NO_STREAMS,
  openFakeA2a,
  openStream,
  status,
  streams,
  task,
  toEvent,
} from './fixtures/fake-a2a.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

/** Opens a stream with these items and keeps it open. */
function hangs(...items: readonly object[]): Behaviour {
  return (request, response) => {
    openStream(response);
    for (const item of items) response.write(toEvent(request, item));
  };
}

/** Streams these items, then loses the connection. */
function breaks(...items: readonly object[]): Behaviour {
  return (request, response) => {
    openStream(response);
    for (const item of items) response.write(toEvent(request, item));
    setTimeout(() => response.socket?.destroy(), 20);
  };
}

describe('how a task of an A2A agent ends', () => {
  it.each([
    ['TASK_STATE_FAILED', 'failed'],
    ['TASK_STATE_REJECTED', 'rejected'],
    ['TASK_STATE_CANCELED', 'canceled'],
  ])("with %s it is the agent's own answer", async (state, word) => {
    const { adapter, methods } = await openFakeA2a({
      SendStreamingMessage: streams(task('TASK_STATE_WORKING'), status(state, 'no such city')),
    });
    const error = await failedCall(adapter, 'task');
    expect(error.isAgentAnswer).toBe(true);
    expect(error.details).toMatchObject({ state: word, upstream: 'no such city' });
    expect(error.answer).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'no such city' }],
    });
    expect(methods).toEqual(['SendStreamingMessage']);
  });

  it('takes the answer from the last message, else from artifacts, else from the history', async () => {
    const done = 'TASK_STATE_COMPLETED';
    const history = [agentMessage({ text: 'early' }), agentMessage({ text: 'told' })];
    const ways: readonly [answer: string, item: object][] = [
      ['said', task(done, { status: { state: done, message: agentMessage({ text: 'said' }) } })],
      ['made', task(done, { artifacts: [{ artifactId: 'a', parts: [{ text: 'made' }] }] })],
      ['told', task(done, { history })],
      ['', task(done)],
    ];
    for (const [answer, item] of ways) {
      const { adapter } = await openFakeA2a({ SendStreamingMessage: streams(item) });
      expect((await runCall(adapter, 'task')).result?.answer).toBe(answer);
    }
  });

  it('looks into the task when its stream brought no answer', async () => {
    const history = [agentMessage({ text: 'kept' })];
    const { adapter, methods } = await openFakeA2a({
      SendStreamingMessage: streams(task('TASK_STATE_WORKING'), status('TASK_STATE_COMPLETED')),
      GetTask: gets(task('TASK_STATE_COMPLETED', { history })),
    });
    expect((await runCall(adapter, 'task')).result?.answer).toBe('kept');
    expect(methods).toEqual(['SendStreamingMessage', 'GetTask']);
  });

  it('passes files and data of a message on', async () => {
    const message = agentMessage(
      { text: 'see the picture' },
      { raw: 'AAEC', mediaType: 'image/png', filename: 'a.png' },
      { url: 'https://files.example/b', mediaType: 'application/pdf' },
      { data: { total: 2 } },
    );
    const { adapter } = await openFakeA2a({ SendStreamingMessage: streams({ message }) });
    const { result } = await runCall(adapter, 'task');
    expect(result).toMatchObject({
      answer: 'see the picture',
      data: { total: 2 },
      artifacts: [
        { name: 'a.png', media_type: 'image/png', data: 'AAEC' },
        { media_type: 'application/pdf', uri: 'https://files.example/b' },
      ],
    });
  });

  it('reports what it does on the way as progress', async () => {
    const { adapter } = await openFakeA2a({
      SendStreamingMessage: streams(
        task('TASK_STATE_SUBMITTED'),
        status('TASK_STATE_WORKING', 'searching\u0007'),
        status('TASK_STATE_COMPLETED', 'found'),
      ),
    });
    const { events } = await runCall(adapter, 'task');
    expect(events).toMatchObject([
      { type: 'progress', data: { message: 'searching' } },
      { type: 'final', data: { answer: 'found' } },
    ]);
  });

  it('sends the arguments as data and names the skill', async () => {
    const { adapter, requests } = await openFakeA2a({});
    const input = { task: '', arguments: { task: 'go', city: 'Rome' }, context: { lang: 'it' } };
    await runCall(adapter, '', { input });
    expect(requests[0]?.params.message).toMatchObject({
      role: 'ROLE_USER',
      parts: [{ text: 'go' }, { data: { city: 'Rome', lang: 'it' } }],
      metadata: { 'io.starloom/skill': 'work', 'x-openstarry-depth': '1' },
    });
  });

  it('refuses a call without any content, before it is sent', async () => {
    const { adapter, requests } = await openFakeA2a({});
    const error = await failedCall(adapter, '', { input: { task: '' } });
    expect(error).toMatchObject({ code: 'BAD_INPUT', details: { sent: false } });
    expect(requests).toEqual([]);
  });
});

describe('a stream of an A2A agent that is lost', () => {
  const begun = [task('TASK_STATE_WORKING'), artifact('one ')];
  const half = { artifacts: [{ artifactId: 'answer', parts: [{ text: 'one two ' }] }] };
  const whole = { artifacts: [{ artifactId: 'answer', parts: [{ text: 'one two three' }] }] };

  it('is joined again, and nothing is passed on twice', async () => {
    const { adapter, methods } = await openFakeA2a({
      SendStreamingMessage: breaks(...begun),
      SubscribeToTask: streams(
        task('TASK_STATE_WORKING', half),
        artifact('three', { append: true }),
        status('TASK_STATE_COMPLETED'),
      ),
    });
    const { events, result } = await runCall(adapter, 'task');
    const texts = events.flatMap((event) => (event.type === 'token' ? event.data.text : []));
    expect(texts).toEqual(['one ', 'two ', 'three']);
    expect(result?.answer).toBe('one two three');
    expect(result?.artifacts).toMatchObject([{ id: 'answer', text: 'one two three' }]);
    expect(methods).toEqual(['SendStreamingMessage', 'SubscribeToTask']);
  });

  it('is looked at from time to time when it cannot be joined', async () => {
    const { adapter, methods } = await openFakeA2a({
      SendStreamingMessage: streams(...begun),
      GetTask: gets(task('TASK_STATE_WORKING', half), task('TASK_STATE_COMPLETED', whole)),
    });
    expect((await runCall(adapter, 'task')).result?.answer).toBe('one two three');
    expect(methods).toEqual(['SendStreamingMessage', 'SubscribeToTask', 'GetTask', 'GetTask']);
  });

  it('is given up after some tries, when it breaks each time', async () => {
    const { adapter, methods } = await openFakeA2a({
      SendStreamingMessage: breaks(...begun),
      SubscribeToTask: breaks(task('TASK_STATE_WORKING', half)),
      GetTask: gets(task('TASK_STATE_COMPLETED', whole)),
    });
    expect((await runCall(adapter, 'task')).result?.answer).toBe('one two three');
    expect(methods.filter((method) => method === 'SubscribeToTask')).toHaveLength(4);
    expect(methods.at(-1)).toBe('GetTask');
  });

  it('is joined again when the agent falls silent', async () => {
    const { adapter, methods } = await openFakeA2a(
      {
        SendStreamingMessage: hangs(...begun),
        SubscribeToTask: hangs(task('TASK_STATE_WORKING', half)),
        GetTask: gets(task('TASK_STATE_COMPLETED', whole)),
      },
      { options: { idle_ms: 50 } },
    );
    expect((await runCall(adapter, 'task')).result?.answer).toBe('one two three');
    expect(methods.at(-1)).toBe('GetTask');
  });

  it('is not said to be unsent when the agent cannot be reached afterwards', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: (request, response) => {
        breaks(...begun)(request, response);
        fake.stop();
      },
    });
    const error = await failedCall(fake.adapter, 'task');
    expect(error.code).toBe('AGENT_OFFLINE');
    expect(error.details).not.toHaveProperty('sent');
  });

  it('fails when the agent does not know the task any more', async () => {
    const error = { code: -32_001, message: 'gone' };
    const { adapter } = await openFakeA2a({
      SendStreamingMessage: breaks(...begun),
      GetTask: (request, response) => answerRpc(response, request, { error }),
    });
    expect(await failedCall(adapter, 'task')).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'task_lost' },
    });
  });

  it('starts over when the agent rewrote its answer meanwhile', async () => {
    const { adapter } = await openFakeA2a({
      SendStreamingMessage: breaks(...begun),
      SubscribeToTask: streams(
        task('TASK_STATE_COMPLETED', {
          artifacts: [{ artifactId: 'answer', parts: [{ text: 'uno' }] }],
        }),
      ),
    });
    const { events, result } = await runCall(adapter, 'task');
    expect(events).toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ state: 'discard' }) }),
    );
    expect(result?.answer).toBe('uno');
  });

  it('is not used again when it cannot be read: the next call does without', async () => {
    const { adapter, methods } = await openFakeA2a({
      SendStreamingMessage: (_, response) => openStream(response).end('data: ?\n\n'),
    });
    expect((await failedCall(adapter, 'task')).code).toBe('UPSTREAM_ERROR');
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
    expect(methods).toEqual(['SendStreamingMessage', 'SendMessage']);
  });
});

it('an A2A agent whose streams end is called over connections that are used again', async () => {
  const ports = new Set<number | undefined>();
  const { adapter } = await openFakeA2a({
    SendStreamingMessage: (request, response) => {
      ports.add(response.socket?.remotePort);
      streams(task('TASK_STATE_WORKING'), status('TASK_STATE_COMPLETED', 'ok'))(request, response);
    },
  });
  for (let calls = 0; calls < 8; calls += 1) {
    await runCall(adapter, 'task');
    await new Promise((done) => setTimeout(done, 20));
  }
  expect(ports.size).toBeLessThan(4);
});

describe('an A2A agent that does not stream', () => {
  it('though its card says so is called without, in the same call', async () => {
    const error = { code: -32_004, message: 'not supported' };
    const { adapter, methods } = await openFakeA2a({
      SendStreamingMessage: (request, response) => answerRpc(response, request, { error }),
    });
    expect((await runCall(adapter, 'one')).result?.answer).toBe('one');
    expect((await runCall(adapter, 'two')).result?.answer).toBe('two');
    expect(methods).toEqual(['SendStreamingMessage', 'SendMessage', 'SendMessage']);
  });

  it('is asked for its task at once, and looked at until it is done', async () => {
    const { adapter, requests, methods } = await openFakeA2a(
      {
        SendMessage: (request, response) =>
          answerRpc(response, request, { result: task('TASK_STATE_SUBMITTED') }),
        GetTask: gets(
          task('TASK_STATE_WORKING'),
          task('TASK_STATE_COMPLETED', { history: [agentMessage({ text: 'done' })] }),
        ),
      },
      NO_STREAMS,
    );
    expect((await runCall(adapter, 'task')).result?.answer).toBe('done');
    expect(methods).toEqual(['SendMessage', 'GetTask', 'GetTask']);
    expect(requests[0]?.params.configuration).toMatchObject({ returnImmediately: true });
  });

  it('is given time to come back', async () => {
    let asked = 0;
    const { adapter } = await openFakeA2a(
      {
        SendMessage: (request, response) =>
          answerRpc(response, request, { result: task('TASK_STATE_WORKING') }),
        GetTask: (request, response) => {
          asked += 1;
          if (asked < 4) response.socket?.destroy();
          else gets(task('TASK_STATE_COMPLETED'))(request, response);
        },
      },
      NO_STREAMS,
    );
    expect((await runCall(adapter, 'task')).events.at(-1)?.type).toBe('final');
  });
});

describe('a call of an A2A agent that is left', () => {
  /** A while after the agent was reached. */
  const abortWith = (fake: { readonly methods: readonly string[] }, reason: FabricError) => {
    const control = new AbortController();
    const timer = setInterval(() => {
      if (fake.methods.length === 0) return;
      clearInterval(timer);
      setTimeout(() => control.abort(reason), 50);
    }, 5);
    return control.signal;
  };
  const timeout = new FabricError('TIMEOUT', 'Too slow');

  it('cancels its task', async () => {
    const fake = await openFakeA2a({ SendStreamingMessage: hangs(task('TASK_STATE_WORKING')) });
    expect(
      (await failedCall(fake.adapter, 'task', { signal: abortWith(fake, timeout) })).code,
    ).toBe('TIMEOUT');
    await expect.poll(() => fake.methods).toContain('CancelTask');
    expect(fake.requests.at(-1)?.params).toMatchObject({ id: IDS.taskId });
  });

  it('cancels a task that is named only after the caller left', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: (request, response) => {
        openStream(response);
        setTimeout(() => response.write(toEvent(request, task('TASK_STATE_WORKING'))), 200);
      },
    });
    expect(
      (await failedCall(fake.adapter, 'task', { signal: abortWith(fake, timeout) })).code,
    ).toBe('TIMEOUT');
    expect(fake.methods).not.toContain('CancelTask');
    await expect.poll(() => fake.methods).toContain('CancelTask');
  });

  it('cancels a task whose answer cannot be used', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: hangs(task('TASK_STATE_WORKING'), {
        artifactUpdate: { ...IDS, taskId: 'other', artifact: { artifactId: 'a', parts: [] } },
      }),
    });
    expect((await failedCall(fake.adapter, 'task')).details.reason).toBe('wrong_task');
    await expect.poll(() => fake.methods).toContain('CancelTask');
  });

  it('leaves the task running when another worker goes on with it', async () => {
    const fake = await openFakeA2a({ SendStreamingMessage: hangs(task('TASK_STATE_WORKING')) });
    const reason = new FabricError('AGENT_OFFLINE', 'x', { details: { reason: CLAIM_LOST } });
    await failedCall(fake.adapter, 'task', { signal: abortWith(fake, reason) });
    await fake.adapter.close();
    expect(fake.methods).toEqual(['SendStreamingMessage']);
  });

  it('does not wait for an agent that hangs when it is asked to cancel', async () => {
    const fake = await openFakeA2a({
      SendStreamingMessage: hangs(task('TASK_STATE_WORKING')),
      CancelTask: () => {},
    });
    const signal = abortWith(fake, timeout);
    const outcome = failedCall(fake.adapter, 'task', { signal });
    const first = await Promise.race([outcome, new Promise((done) => setTimeout(done, 3_000))]);
    expect(first).toMatchObject({ code: 'TIMEOUT' });
  });

  it('ends with AGENT_OFFLINE when the adapter is closed, and cancels its task', async () => {
    const fake = await openFakeA2a({ SendStreamingMessage: hangs(task('TASK_STATE_WORKING')) });
    const outcome = failedCall(fake.adapter, 'task');
    await expect.poll(() => fake.methods).toContain('SendStreamingMessage');
    await fake.adapter.close();
    expect((await outcome).code).toBe('AGENT_OFFLINE');
    expect(fake.methods).toContain('CancelTask');
    expect(await failedCall(fake.adapter, 'task')).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { sent: false },
    });
  });
});
