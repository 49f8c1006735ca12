// The clauses of the official A2A suite on operations, by their ids, over every binding of 1.0.

import { describe, expect, it } from 'vitest';
import { answers, openTestGateway, type TestAgent } from '../test-gateway.ts';
import {
  cancelTask,
  collect,
  connectA2a,
  EVERY_WAY,
  getTask,
  type Json,
  message,
  send,
} from './a2a-client.ts';

/** Repeats its input; `ask` asks until it gets an answer, `wait` does not end by itself. */
const run: TestAgent['run'] = async function* ({ input }, signal, { ask, responses }) {
  const [verb] = input.task.split(' ');
  if (verb === 'ask') {
    const question = { id: 'text', kind: 'text', message: 'What?' } as const;
    const [given] = responses ?? (await ask?.([question])) ?? [];
    return yield { type: 'final', data: { answer: JSON.stringify(given?.content) } };
  }
  if (verb === 'wait') {
    yield { type: 'status', data: { state: 'started' } };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    throw signal.reason;
  }
  yield { type: 'artifact', data: { id: 'a', media_type: 'text/plain', text: input.task } };
  yield { type: 'final', data: { answer: '' } };
};

const listing = {
  tenant: '',
  contextId: '',
  status: 0,
  pageSize: undefined,
  pageToken: '',
  historyLength: undefined,
  statusTimestampAfter: undefined,
  includeArtifacts: undefined,
};

describe.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])('A2A operations by %s', (binding) => {
  const open = async () => {
    const gateway = await openTestGateway({ percy: { run } }, { config: EVERY_WAY });
    return { gateway, client: await connectA2a(gateway.url, { binding }) };
  };

  it('CORE-SEND-001, CORE-EXECUTION-MODE-001: waits for the end, and answers with the task', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    expect((await send(client, message('x'))).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await send(client, message('ask'))).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  it('CORE-EXECUTION-MODE-002: answers at once when it is asked to', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const configuration = { returnImmediately: true };
    const task = await send(client, message('wait', { configuration }));
    expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state);
    await cancelTask(client, task.id);
  });

  it('CORE-SEND-002, CORE-CANCEL-002: a task that is over takes no message and no cancel', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const { id: taskId } = await send(client, message('x'));
    const sent = client.sendMessage(message('y', { taskId }));
    await expect(sent).rejects.toMatchObject({ name: 'UnsupportedOperationError' });
    const cancelled = cancelTask(client, taskId);
    await expect(cancelled).rejects.toMatchObject({ name: 'TaskNotCancelableError' });
  });

  it('CORE-SEND-003: a part of a media type that the agent does not take is refused', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const parts = [{ raw: btoa('x'), mediaType: 'application/x-unknown' }];
    const sent = client.sendMessage(message('', { parts }));
    await expect(sent).rejects.toMatchObject({ name: 'ContentTypeNotSupportedError' });
  });

  it('CORE-STREAM-001, CORE-STREAM-003: a stream begins with the task and ends with it', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const items = await collect(client.sendMessageStream(message('x')));
    expect(Object.keys(items[0])).toEqual(['task']);
    const kinds = new Set(items.slice(1).flatMap((item) => Object.keys(item)));
    expect([...kinds].sort()).toEqual(['artifactUpdate', 'statusUpdate']);
    expect(items.at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('CORE-GET-002, CORE-CANCEL-003, CORE-MULTI-004, STREAM-SUB-004: unknown tasks are not found', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const notFound = { name: 'TaskNotFoundError' };
    for (const id of ['nothing', crypto.randomUUID()]) {
      await expect(getTask(client, id)).rejects.toMatchObject(notFound);
      await expect(cancelTask(client, id)).rejects.toMatchObject(notFound);
      const sent = client.sendMessage(message('x', { taskId: id }));
      await expect(sent).rejects.toMatchObject(notFound);
      const subscribed = collect(client.resubscribeTask({ tenant: '', id }));
      await expect(subscribed).rejects.toMatchObject(notFound);
    }
  });

  it('CORE-LIST-001 to 005: lists tasks, latest first, by pages, without artifacts', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const contextId = 'ctx';
    const ids: string[] = [];
    for (const text of ['a', 'b', 'c']) {
      ids.unshift((await send(client, message(text, { contextId }))).id);
    }
    await send(client, message('elsewhere'));
    const first = await client.listTasks({ ...listing, contextId, pageSize: 2 });
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3 });
    expect(first.tasks.every(({ artifacts }) => artifacts.length === 0)).toBe(true);
    const { nextPageToken: pageToken } = first;
    const second = await client.listTasks({ ...listing, contextId, pageSize: 2, pageToken });
    expect(second.nextPageToken).toBe('');
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids);
    const all = { ...listing, includeArtifacts: true, status: 3 };
    const whole = await client.listTasks(all);
    expect(whole.tasks).toHaveLength(4);
    expect(whole.tasks.every(({ artifacts }) => artifacts.length === 1)).toBe(true);
    const past = { ...listing, statusTimestampAfter: '2999-01-01T00:00:00Z' };
    expect((await client.listTasks(past)).tasks).toEqual([]);
    for (const wrong of [{ pageSize: 0 }, { pageSize: 101 }, { pageToken: 'x' }]) {
      await expect(client.listTasks({ ...listing, ...wrong })).rejects.toThrow();
    }
  });

  it('CORE-MULTI-001a, 002a, 003: contexts are made, or kept as the client named them', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const [one, two] = [await send(client, message('x')), await send(client, message('x'))];
    expect(one.contextId).not.toBe(two.contextId);
    expect(one.id).not.toBe(two.id);
    const named = await send(client, message('x', { contextId: 'mine' }));
    expect(named.contextId).toBe('mine');
    const tooLong = client.sendMessage(message('x', { contextId: 'c'.repeat(257) }));
    await expect(tooLong).rejects.toThrow();
  });

  it('CORE-MULTI-005, 006: the context of a task is known, and no other is taken', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const { id: taskId, contextId } = await send(client, message('ask'));
    const other = client.sendMessage(message('x', { taskId, contextId: 'other' }));
    await expect(other).rejects.toThrow('contextId');
    const task = await send(client, message('x', { taskId }));
    expect(task).toMatchObject({ id: taskId, contextId });
  });

  it('CORE-HIST-001 to 004: history is as long as asked for, and no longer', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const { id } = await send(client, message('ask'));
    const whole = (await getTask(client, id)).history;
    expect(whole).toMatchObject([{ role: 'ROLE_USER' }, { role: 'ROLE_AGENT' }]);
    expect((await getTask(client, id, 1)).history).toEqual(whole.slice(1));
    expect((await getTask(client, id, 0)).history).toBeUndefined();
    const configuration = { historyLength: 0 };
    expect((await send(client, message('x', { configuration }))).history).toBeUndefined();
    await expect(getTask(client, id, -1)).rejects.toThrow();
  });

  it('keeps what was asked, answered and said in the history, in order', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const { id: taskId } = await send(client, message('ask'));
    const task = await send(client, message('blue', { taskId }));
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    const { history } = await getTask(client, taskId);
    const roles = history.map(({ role }: Json) => role);
    expect(roles).toEqual(['ROLE_USER', 'ROLE_AGENT', 'ROLE_USER', 'ROLE_AGENT']);
    const texts = history.map(({ parts }: Json) => parts[0].text);
    expect(texts[0]).toBe('ask');
    expect(texts[2]).toBe('blue');
    expect(history.map(({ taskId }: Json) => taskId)).toEqual(history.map(() => taskId));
    const last = (await getTask(client, taskId, 2)).history;
    expect(last).toEqual(history.slice(2));
    await expect(client.sendMessage(message('late', { taskId }))).rejects.toThrow();
    expect((await getTask(client, taskId)).history).toEqual(history);
  });

  it('STREAM-ORDER-001 to 004, STREAM-SUB-001 to 003: streams of one task have the same events', async () => {
    const { gateway, client } = await open();
    await using _ = gateway;
    const { id } = await send(client, message('ask'));
    const leaving = client.resubscribeTask({ tenant: '', id });
    expect((await leaving.next()).value).toMatchObject({ payload: { $case: 'task' } });
    const followers = [1, 2].map(() => collect(client.resubscribeTask({ tenant: '', id })));
    await leaving.return();
    await send(client, message('done', { taskId: id }));
    const [one = [], two] = await Promise.all(followers);
    expect(one[0].task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(one.slice(1)).toEqual(two?.slice(1));
    expect(one.at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
    const late = collect(client.resubscribeTask({ tenant: '', id }));
    await expect(late).rejects.toMatchObject({ name: 'UnsupportedOperationError' });
  });

  it('DM-PART-001, DM-ART-001: what agents make are text, files, links and data', async () => {
    const pieces = [
      { id: 't', media_type: 'text/plain', text: 'words' },
      { id: 'f', name: 'f.bin', media_type: 'application/octet-stream', data: btoa('bytes') },
      { id: 'u', media_type: 'text/plain', uri: 'https://example.com/x' },
      { id: 'd', media_type: 'application/json', text: '{"n":1}' },
    ];
    const made = pieces.map((data) => ({ type: 'artifact', data }) as const);
    await using gateway = await openTestGateway(
      { percy: { run: answers('', ...made) } },
      { config: EVERY_WAY },
    );
    const client = await connectA2a(gateway.url, { binding });
    const task = await send(client, message('x'));
    expect(task.artifacts.map((artifact: { parts: unknown[] }) => artifact.parts[0])).toEqual([
      { text: 'words', mediaType: 'text/plain' },
      { raw: btoa('bytes'), mediaType: 'application/octet-stream', filename: 'f.bin' },
      { url: 'https://example.com/x', mediaType: 'text/plain' },
      { data: { n: 1 }, mediaType: 'application/json' },
    ]);
  });

  it('DM-MSG-001, CORE-STREAM-002: an agent may answer with a message in place of a task', async () => {
    const upstream = { _meta: { 'io.starloom/reply': 'message' } };
    const says: TestAgent['run'] = async function* () {
      yield { type: 'final', data: { answer: 'hello', upstream } };
    };
    await using gateway = await openTestGateway({ percy: { run: says } }, { config: EVERY_WAY });
    const client = await connectA2a(gateway.url, { binding });
    expect(await client.sendMessage(message('hi'))).toMatchObject({
      messageId: expect.any(String),
      role: 2,
      parts: [{ content: { $case: 'text', value: 'hello' } }],
    });
  });
});
