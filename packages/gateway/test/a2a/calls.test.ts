// What a message becomes: which capability of which agent is called, with what, and where its task lives.

import { join } from 'node:path';
import type { InputRequest, JobEngine } from '@starloom/core';
import { createMemoryJobEngine, openSqliteJobs } from '@starloom/jobs';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { createBoundedJobs } from '../../src/jobs/job-setup.ts';
import { answers, call, connect, openTestGateway, type TestAgent } from '../test-gateway.ts';
import { connectA2a, getTask, type Json, message, send } from './a2a-client.ts';
import { errorOf, request, rpc, toMessage } from './raw.ts';

/** Answers with what it was given. */
const echo: TestAgent['run'] = async function* ({ input, target, trace, hop }) {
  const { agent_id, capability } = target;
  const data = { agent_id, capability, ...input, trace, hop };
  yield { type: 'final', data: { answer: 'seen', data } };
};

const seen = (task: Json): Json =>
  task.artifacts[0].parts.find((part: Json) => part.data !== undefined).data;

const two = { capabilities: [{ name: 'reason' }, { name: 'draw', modalities: ['text', 'image'] }] };
const agents = { percy: { manifest: two, run: echo }, quinn: { run: echo } };

describe('a message over A2A', () => {
  it('calls the only capability of an agent, or the one it names', async () => {
    await using gateway = await openTestGateway(agents);
    const quinn = await connectA2a(gateway.url, { agent: 'quinn' });
    expect(seen(await send(quinn, message('x')))).toMatchObject({ capability: 'work', task: 'x' });
    const percy = await connectA2a(gateway.url);
    const key = 'io.starloom/capability';
    const inMessage = named('x', { [key]: 'draw' });
    expect(seen(await send(percy, inMessage)).capability).toBe('draw');
    const ofOurClient = named('x', { 'io.starloom/skill': 'reason' });
    expect(seen(await send(percy, ofOurClient)).capability).toBe('reason');
    const inRequest = message('x', { metadata: { [key]: 'reason' } });
    expect(seen(await send(percy, inRequest)).capability).toBe('reason');
    const parts = [{ data: { skill: 'draw', arguments: { n: 1 } } }];
    const inData = await send(percy, message('', { parts }));
    expect(seen(inData)).toMatchObject({ capability: 'draw', arguments: { n: 1 } });
  });

  it('is refused when it names no capability of several, with their names', async () => {
    await using gateway = await openTestGateway(agents);
    for (const metadata of [undefined, { 'io.starloom/capability': 'nothing' }]) {
      const params = toMessage('x', { ...(metadata && { metadata }) });
      const answer = await rpc(`${gateway.url}/a2a/percy`, 'SendMessage', params);
      const { code, details } = errorOf(answer);
      expect(code).toBe(-32602);
      expect(details[1].value.error.details).toMatchObject({
        reason: 'capability',
        capabilities: ['reason', 'draw'],
      });
    }
  });

  it('reaches every agent through the gateway itself, by skill', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await connectA2a(gateway.url, { agent: undefined });
    const task = await send(client, named('x', { 'io.starloom/capability': 'quinn.work' }));
    expect(seen(task)).toMatchObject({ agent_id: 'quinn', capability: 'work' });
    const byRest = await request(`${gateway.url}/a2a/fabric/message:send`, 'POST', {
      ...toMessage('x', { metadata: { 'io.starloom/capability': 'percy.draw' } }),
    });
    expect(seen(byRest.body.task)).toMatchObject({ agent_id: 'percy', capability: 'draw' });
    const unnamed = await rpc(`${gateway.url}/a2a/fabric`, 'SendMessage', toMessage('x'));
    expect(errorOf(unnamed).details[1].value.error.details.capabilities).toEqual([
      'percy.reason',
      'percy.draw',
      'quinn.work',
    ]);
  });

  it('gives text, data and files to the agent, and says which message they came with', async () => {
    const manifest = { capabilities: [{ name: 'draw', modalities: ['text', 'image'] }] };
    await using gateway = await openTestGateway({ percy: { manifest, run: echo } });
    const client = await connectA2a(gateway.url);
    const parts = [
      { text: 'a cat' },
      { data: { size: 3 } },
      { raw: btoa('png'), mediaType: 'image/png', filename: 'cat.png' },
      { url: 'https://example.com/dog.png', mediaType: 'image/png' },
    ];
    const task = await send(client, message('', { parts, contextId: 'c', messageId: 'm' }));
    expect(seen(task)).toMatchObject({
      task: 'a cat',
      arguments: { size: 3 },
      attachments: [
        { name: 'cat.png', media_type: 'image/png', data: btoa('png') },
        { media_type: 'image/png', uri: 'https://example.com/dog.png' },
      ],
      context: { 'io.starloom/a2a': { message_id: 'm', context_id: 'c' } },
    });
  });

  it('fills the place that the schema has for text', async () => {
    const input_schema = {
      type: 'object',
      properties: { question: { type: 'string' }, deep: { type: 'boolean' } },
      required: ['question'],
      additionalProperties: false,
    };
    const manifest = { capabilities: [{ name: 'reason', input_schema }] };
    await using gateway = await openTestGateway({ percy: { manifest, run: echo } });
    const client = await connectA2a(gateway.url);
    expect(seen(await send(client, message('why?'))).arguments).toEqual({ question: 'why?' });
    const parts = [{ text: 'why?' }, { data: { deep: true } }];
    const both = await send(client, message('', { parts }));
    expect(seen(both).arguments).toEqual({ question: 'why?', deep: true });
    const wrong = await send(client, message('', { parts: [{ data: { deep: 'very' } }] }));
    expect(wrong.status).toMatchObject({
      state: 'TASK_STATE_REJECTED',
      message: { metadata: { 'io.starloom/error': { code: 'BAD_INPUT' } } },
    });
  });

  it('carries trace and depth on, and is refused too deep', async () => {
    await using gateway = await openTestGateway({ quinn: { run: echo } });
    const url = `${gateway.url}/a2a/quinn`;
    const trace_id = '0af76519-16cd-43dd-8448-eb211c80319c';
    const headers = { 'x-openstarry-trace-id': trace_id, 'x-openstarry-depth': '3' };
    const { body } = await rpc(url, 'SendMessage', toMessage('x'), { headers });
    expect(seen(body.result.task)).toMatchObject({ trace: { trace_id }, hop: { depth: 3 } });
    expect(body.result.task.metadata['io.starloom/call']).toMatchObject({ traceId: trace_id });
    const metadata = { 'X-OpenStarry-Depth': 6 };
    const deep = errorOf(await rpc(url, 'SendMessage', toMessage('x', { metadata })));
    expect(deep.details[0]).toMatchObject({ reason: 'RECURSION_LIMIT', domain: 'io.starloom' });
  });

  it('waits for an agent that has not said yet what it offers, and for no other', async () => {
    const gate = Promise.withResolvers<void>();
    const late = { name: 'late', streaming: false, modalities: ['text'], reentrant: false };
    const describe = async () => {
      await gate.promise;
      return { version: '1', capabilities: [late] };
    };
    const manifest = { capabilities: undefined };
    await using gateway = await openTestGateway({
      percy: { manifest, run: echo, describe },
      quinn: { run: echo },
    });
    const quinn = toMessage('x', { metadata: { 'io.starloom/capability': 'quinn.work' } });
    const { body } = await rpc(`${gateway.url}/a2a/fabric`, 'SendMessage', quinn);
    expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    const waiting = rpc(`${gateway.url}/a2a/percy`, 'SendMessage', toMessage('x'));
    gate.resolve();
    expect(seen((await waiting).body.result.task).capability).toBe('late');
  });

  it('goes on with the conversation of its context, and with its capability', async () => {
    const run: TestAgent['run'] = async function* (envelope, _signal, context) {
      const turn = Number(context.handle?.turn ?? 0) + 1;
      await context.keep?.({ turn });
      yield { type: 'final', data: { answer: `${envelope.target.capability} ${turn}` } };
    };
    await using gateway = await openTestGateway({ percy: { manifest: two, run } });
    const client = await connectA2a(gateway.url);
    const first = await send(client, named('x', { 'io.starloom/capability': 'reason' }));
    const { contextId } = first;
    const second = await send(client, message('y', { contextId }));
    const texts = [first, second].map((task) => task.artifacts[0].parts[0].text);
    expect(texts).toEqual(['reason 1', 'reason 2']);
    expect(second.id).not.toBe(first.id);
  });
});

describe('questions over A2A', () => {
  const questions: InputRequest[] = [
    { id: 'size', kind: 'choice', message: 'Which?', options: [{ id: 's', label: 'Small' }] },
    {
      id: 'form',
      kind: 'form',
      message: 'Name?',
      schema: { properties: { name: { type: 'string' } }, required: ['name'] },
    },
  ];
  const run: TestAgent['run'] = async function* ({ input }, _signal, { ask, responses }) {
    const asked = questions.filter(({ id }) => input.task.includes(id));
    const given = responses ?? (await ask?.(asked)) ?? [];
    yield {
      type: 'final',
      data: { answer: JSON.stringify(given.map(({ action, content }) => content ?? action)) },
    };
  };
  const cases: [string, string, Json, unknown[]][] = [
    ['a choice by its label', 'size', { parts: [{ text: 'small' }] }, [{ choice: 's' }]],
    ['a form by its only field', 'form', { parts: [{ text: 'Ada' }] }, [{ name: 'Ada' }]],
    ['a form by data', 'form', { parts: [{ data: { name: 'Ada' } }] }, [{ name: 'Ada' }]],
    ['a form by JSON', 'form', { parts: [{ text: '{"name":"Ada"}' }] }, [{ name: 'Ada' }]],
    ['with no', 'form', { metadata: { 'io.starloom/action': 'decline' } }, ['decline']],
    [
      'several at once',
      'size form',
      { parts: [{ data: { size: 's', form: { name: 'Ada' } } }] },
      [{ choice: 's' }, { name: 'Ada' }],
    ],
    [
      'in our own words',
      'size',
      {
        metadata: {
          'io.starloom/inputs': [
            { id: 'size', response: { action: 'accept', content: { choice: 's' } } },
          ],
        },
      },
      [{ choice: 's' }],
    ],
  ];
  it.each(cases)('are answered %s', async (_, task, answer, expected) => {
    await using gateway = await openTestGateway({ percy: { run } });
    const url = `${gateway.url}/a2a/percy`;
    const asked = (await rpc(url, 'SendMessage', toMessage(task))).body.result.task;
    expect(asked.status.message.parts[1].data.inputs).toHaveLength(expected.length);
    const params = toMessage('', { taskId: asked.id, ...answer });
    const { body } = await rpc(url, 'SendMessage', params);
    expect(JSON.parse(body.result.task.artifacts[0].parts[0].text)).toEqual(expected);
  });

  it.each([
    ['does not fit', 'size', { parts: [{ text: 'huge' }] }],
    ['leaves one open', 'size form', { parts: [{ data: { size: 's' } }] }],
    ['is garbled', 'size', { metadata: { 'io.starloom/inputs': 'yes' } }],
  ])('stay open after an answer that %s', async (_, task, answer) => {
    await using gateway = await openTestGateway({ percy: { run } });
    const url = `${gateway.url}/a2a/percy`;
    const { id } = (await rpc(url, 'SendMessage', toMessage(task))).body.result.task;
    const refused = await rpc(url, 'SendMessage', toMessage('', { taskId: id, ...answer }));
    expect(errorOf(refused).code).toBe(-32602);
    const { body } = await rpc(url, 'GetTask', { id });
    expect(body.result.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });
});

describe('tasks of A2A', () => {
  it('are jobs under the same id, and outlive the gateway', async () => {
    await using folder = await temporaryFolder();
    const open = async () => {
      const jobs = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
      const gateway = await openTestGateway({ percy: { run: answers('42') } }, { jobs });
      return Object.assign(gateway, { jobs });
    };
    let id: string;
    let before: Json;
    {
      await using gateway = await open();
      before = await send(await connectA2a(gateway.url), message('x'));
      id = before.id;
      await using client = await connect(gateway.url);
      const { payload } = await call(client, 'fabric.job.status', { job_id: id });
      expect(payload.job).toMatchObject({
        state: 'succeeded',
        result: { result: { answer: '42' } },
      });
      await gateway.gateway.close();
      await gateway.jobs.close();
    }
    await using gateway = await open();
    expect(await getTask(await connectA2a(gateway.url), id)).toEqual(before);
    await gateway.gateway.close();
    await gateway.jobs.close();
  });

  it('without jobs are kept in memory with a bound: the oldest that are over go first', async () => {
    const engine: JobEngine = createBoundedJobs(
      { now: () => 1_000, monotonic: () => 0 },
      { mostTasks: 2 },
    );
    const make = () =>
      engine.create({
        principalId: 'p',
        capability: 'c',
        trace: { trace_id: 't', span_id: 's', parent_span_id: null },
        call: null,
        timeoutMs: 1,
      });
    const [first, second] = [await make(), await make()];
    await expect(make()).rejects.toMatchObject({ code: 'OVERLOADED' });
    await engine.requestCancel(first.job.id);
    const third = await make();
    expect(await engine.get(first.job.id)).toBeUndefined();
    expect((await engine.list({ principalId: 'p', limit: 9 })).jobs.map(({ id }) => id)).toEqual([
      third.job.id,
      second.job.id,
    ]);
  });

  it('of another face are tasks too, each a context of its own', async () => {
    const jobs = createMemoryJobEngine();
    await using gateway = await openTestGateway({ percy: { run: answers('42') } }, { jobs });
    await using client = await connect(gateway.url);
    const asked = { agent_id: 'percy', capability: 'work', async: true };
    const { payload } = await call(client, 'fabric.call', asked);
    const a2a = await connectA2a(gateway.url);
    await expect
      .poll(async () => (await getTask(a2a, payload.job_id)).status.state)
      .toBe('TASK_STATE_COMPLETED');
    const task = await getTask(a2a, payload.job_id);
    expect(task).toMatchObject({ contextId: task.id, artifacts: [{ parts: [{ text: '42' }] }] });
  });
});

function named(text: string, metadata: Record<string, unknown>) {
  const request = message(text);
  if (request.message) request.message.metadata = metadata;
  return request;
}
