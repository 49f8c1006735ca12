import { createMemoryJobEngine } from '@starloom/jobs';
import { describe, expect, it } from 'vitest';
import { answers, openTestGateway, type TestAgent } from '../test-gateway.ts';
import {
  cancelTask,
  collect,
  connectA2a,
  EVERY_WAY,
  getTask,
  message,
  send,
  WAYS,
} from './a2a-client.ts';

const config = EVERY_WAY;

const streaming: TestAgent['run'] = async function* ({ input }) {
  for (const word of input.task.split(' ')) yield { type: 'token', data: { text: `${word} ` } };
  yield { type: 'progress', data: { percent: 50, message: 'half way' } };
  const piece = { id: 'report', name: 'report.txt', media_type: 'text/plain' };
  yield { type: 'artifact', data: { ...piece, text: 'one ' } };
  yield { type: 'artifact', data: { ...piece, text: 'two', append: true, last: true } };
  yield { type: 'final', data: { answer: `${input.task} ` } };
};

const hanging: TestAgent['run'] = async function* (_, signal) {
  yield { type: 'token', data: { text: 'hm' } };
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  throw signal.reason;
};

describe.each(WAYS)('A2A by %s %s', (binding, version) => {
  const way = { binding, version };

  it('answers a message with a completed task and its artifacts', async () => {
    await using gateway = await openTestGateway({ percy: { run: answers('42') } }, { config });
    const client = await connectA2a(gateway.url, way);
    const task = await send(client, message('why?'));
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.artifacts).toMatchObject([{ parts: [{ text: '42' }] }]);
    expect(task.history).toMatchObject([
      { role: 'ROLE_USER', parts: [{ text: 'why?' }] },
      { role: 'ROLE_AGENT', parts: [{ text: '42' }] },
    ]);
    const again = await getTask(client, task.id);
    expect(again).toEqual(task);
  });

  it('streams the task, its artifacts as they grow, and its end', async () => {
    await using gateway = await openTestGateway({ percy: { run: streaming } }, { config });
    const client = await connectA2a(gateway.url, way);
    const items = await collect(client.sendMessageStream(message('a b')));
    expect(items[0].task.status.state).toBe('TASK_STATE_SUBMITTED');
    const states = items.flatMap((item) => item.statusUpdate?.status.state ?? []);
    expect(states.at(0)).toBe('TASK_STATE_WORKING');
    expect(states.at(-1)).toBe('TASK_STATE_COMPLETED');
    const pieces = items.flatMap(({ artifactUpdate }) => artifactUpdate ?? []);
    const textOf = (id: string) =>
      pieces
        .filter(({ artifact }) => artifact.artifactId === id)
        .map(({ artifact }) => artifact.parts[0].text)
        .join('');
    expect(textOf('report')).toBe('one two');
    expect(textOf('starloom.answer')).toBe('a b ');
    const task = await getTask(client, items[0].task.id);
    expect(task.artifacts).toMatchObject([
      { artifactId: 'report', parts: [{ text: 'one two' }] },
      { artifactId: 'starloom.answer', parts: [{ text: 'a b ' }] },
    ]);
  });

  it('goes on after the client left, is subscribed to, and is cancelled', async () => {
    await using gateway = await openTestGateway({ percy: { run: hanging } }, { config });
    const client = await connectA2a(gateway.url, way);
    const configuration = { returnImmediately: true };
    const { id } = await send(client, message('hang', { configuration }));
    await expect
      .poll(async () => (await getTask(client, id)).status.state)
      .toBe('TASK_STATE_WORKING');
    const following = collect(client.resubscribeTask({ tenant: '', id }));
    const task = await cancelTask(client, id);
    expect(task.status.state).toBe('TASK_STATE_CANCELED');
    const items = await following;
    expect(items[0].task.id).toBe(id);
    expect(items.at(-1).statusUpdate.status.state).toBe('TASK_STATE_CANCELED');
    await expect(cancelTask(client, id)).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
    await expect(collect(client.resubscribeTask({ tenant: '', id }))).rejects.toThrow();
  });

  it('asks through the task, and goes on with the answer', async () => {
    const run: TestAgent['run'] = async function* (_envelope, _signal, { ask, responses }) {
      const question = { id: 'name', kind: 'text', message: 'Your name?' } as const;
      const [given] = responses ?? (await ask?.([question])) ?? [];
      const { text } = (given?.content ?? {}) as { text?: string };
      yield { type: 'final', data: { answer: `Hello ${text}` } };
    };
    await using gateway = await openTestGateway(
      { percy: { run } },
      {
        config,
        jobs: createMemoryJobEngine(),
      },
    );
    const client = await connectA2a(gateway.url, way);
    const asked = await send(client, message('greet'));
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(asked.status.message.parts[0].text).toBe('Your name?');
    const task = await send(client, message('Ada', { taskId: asked.id }));
    expect(task).toMatchObject({ id: asked.id, contextId: asked.contextId });
    expect(task.artifacts).toMatchObject([{ parts: [{ text: 'Hello Ada' }] }]);
    const late = client.sendMessage(message('Eve', { taskId: asked.id }));
    await expect(late).rejects.toMatchObject({ name: 'UnsupportedOperationError' });
  });
});
