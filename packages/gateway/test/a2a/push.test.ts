import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@a2a-js/sdk/client';
import { openSqliteJobs } from '@starloom/jobs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestGateway, type TestAgent } from '../test-gateway.ts';
import { connectA2a, EVERY_WAY, type Json, message, send, WAYS } from './a2a-client.ts';
import { errorOf, request, rpc, toMessage } from './raw.ts';

const asking: TestAgent['run'] = async function* (_envelope, _signal, { ask, responses }) {
  const question = { id: 'text', kind: 'text', message: 'What?' } as const;
  if (!responses) yield { type: 'token', data: { text: 'hm' } };
  const given = responses ?? (await ask?.([question])) ?? [];
  yield { type: 'final', data: { answer: `done ${given.length}` } };
};

const config = { ...EVERY_WAY, jobs: { kind: 'sqlite', webhook_hosts: ['127.0.0.1'] } };

async function openReceiver() {
  const received: { headers: IncomingMessage['headers']; text: string; body: Json }[] = [];
  const state = { status: 204 };
  const server = createServer(async (asked, response) => {
    let text = '';
    for await (const chunk of asked) text += chunk;
    received.push({ headers: asked.headers, text, body: JSON.parse(text) });
    response.writeHead(state.status).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    state,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const hookOf = (taskId: string, url: string, more = {}) => ({
  tenant: '',
  id: 'hook',
  taskId,
  url,
  token: '',
  authentication: undefined,
  ...more,
});

const read = async (client: Client, taskId: string, id = 'hook') =>
  client.getTaskPushNotificationConfig({ tenant: '', taskId, id });

describe.each(WAYS)('webhooks of tasks by %s %s', (binding, version) => {
  const way = { binding, version };

  it('PUSH-CREATE-001, 002, GET-001, 002, LIST-001, DEL-001, 002: are made, read, listed, deleted', async () => {
    await using gateway = await openTestGateway({ percy: { run: asking } }, { config });
    const client = await connectA2a(gateway.url, way);
    const { id: taskId } = await send(client, message('x'));
    const url = 'https://example.com/hook';
    const made = await client.createTaskPushNotificationConfig(hookOf(taskId, url));
    expect(made).toMatchObject({ id: 'hook', url });
    expect(await read(client, taskId)).toMatchObject({ id: 'hook', url });
    const all = { tenant: '', taskId, pageSize: 0, pageToken: '' };
    expect((await client.listTaskPushNotificationConfig(all)).configs).toHaveLength(1);
    await expect(read(client, taskId, 'other')).rejects.toThrow();
    const one = { tenant: '', taskId, id: 'hook' };
    await client.deleteTaskPushNotificationConfig(one);
    await client.deleteTaskPushNotificationConfig(one);
    await expect(read(client, taskId)).rejects.toThrow();
    expect((await client.listTaskPushNotificationConfig(all)).configs).toEqual([]);
  });

  it('PUSH-DELIVER-001 to 003: get every update in order, with what they authenticate by', async () => {
    await using receiver = await openReceiver();
    await using gateway = await openTestGateway({ percy: { run: asking } }, { config });
    const client = await connectA2a(gateway.url, way);
    const { id: taskId } = await send(client, message('x'));
    const authentication = { scheme: 'Bearer', credentials: 'secret-of-the-hook' };
    const hook = hookOf(taskId, receiver.url, { authentication });
    await client.createTaskPushNotificationConfig(hook);
    await send(client, message('go on', { taskId }));
    await expect.poll(() => stateOf(receiver.received.at(-1)?.body)).toMatch(/completed/i);
    const [first] = receiver.received;
    expect(first?.headers.authorization).toBe('Bearer secret-of-the-hook');
    const isNew = version === '1.0';
    expect(first?.headers['content-type']).toBe(
      isNew ? 'application/a2a+json' : 'application/json',
    );
    const kinds = receiver.received.map(({ body }) => body.kind ?? Object.keys(body)[0]);
    expect(kinds).toEqual(
      isNew
        ? ['statusUpdate', 'artifactUpdate', 'statusUpdate']
        : ['status-update', 'artifact-update', 'status-update'],
    );
  });
});

const stateOf = (body: Json): string => (body?.statusUpdate ?? body)?.status?.state ?? '';

describe('webhooks of tasks', () => {
  const at = ({ url }: { url: string }) => `${url}/a2a/percy`;
  const create = 'CreateTaskPushNotificationConfig';

  it('are signed as those of jobs are, and named with the message that begins the task', async () => {
    await using receiver = await openReceiver();
    await using gateway = await openTestGateway({ percy: { run: asking } }, { config });
    const hook = { url: receiver.url, token: 'a-token-of-the-client' };
    const configuration = { taskPushNotificationConfig: hook };
    await rpc(at(gateway), 'SendMessage', { ...toMessage('x'), configuration });
    await expect
      .poll(() => stateOf(receiver.received.at(-1)?.body))
      .toBe('TASK_STATE_INPUT_REQUIRED');
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { headers, text } of receiver.received) {
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
      const digest = createHmac('sha256', hook.token).update(signed).digest('base64');
      expect(headers['webhook-signature']).toBe(`v1,${digest}`);
      expect(headers['x-a2a-notification-token']).toBe(hook.token);
    }
  });

  it.each([
    'http://127.0.0.1:9/',
    'http://169.254.169.254/',
    'http://[::1]/',
    'file:///etc/passwd',
    'x',
  ])('are refused for %s, and no task is begun', async (url) => {
    await using gateway = await openTestGateway({ percy: { run: asking } });
    const configuration = { taskPushNotificationConfig: { url } };
    const sent = await rpc(at(gateway), 'SendMessage', { ...toMessage('x'), configuration });
    expect(errorOf(sent)).toMatchObject({ code: -32602 });
    expect(errorOf(sent).details[1].value.error.details.reason).toBe('webhook');
    expect((await rpc(at(gateway), 'ListTasks', {})).body.result.totalSize).toBe(0);
    const { body } = await rpc(at(gateway), 'SendMessage', toMessage('x'));
    const made = await rpc(at(gateway), create, { taskId: body.result.task.id, url });
    expect(errorOf(made).code).toBe(-32602);
  });

  it('have a bound per task, and one that fails delays no answer', async () => {
    await using receiver = await openReceiver();
    receiver.state.status = 500;
    await using gateway = await openTestGateway({ percy: { run: asking } }, { config });
    const { body } = await rpc(at(gateway), 'SendMessage', toMessage('x'));
    const taskId = body.result.task.id;
    for (let n = 0; n < 10; n += 1) {
      expect(
        (await rpc(at(gateway), create, { taskId, url: receiver.url })).body.error,
      ).toBeUndefined();
    }
    const more = await request(`${at(gateway)}/tasks/${taskId}/pushNotificationConfigs`, 'POST', {
      url: receiver.url,
    });
    expect(more.status).toBe(503);
    const answered = await rpc(at(gateway), 'SendMessage', toMessage('y', { taskId }));
    expect(answered.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
  });
});

describe('webhooks of tasks over a restart of the gateway', () => {
  /** Its question waits without a process. */
  const waiting: TestAgent['run'] = async function* (_envelope, _signal, { ask, responses }) {
    const question = { id: 'text', kind: 'text', message: 'What?' } as const;
    const given = responses ?? (await ask?.([question], { handle: { asked: true } })) ?? [];
    yield { type: 'final', data: { answer: `done ${given.length}` } };
  };
  const conversationKey = Buffer.alloc(32, 7);

  async function openWorld(run: TestAgent['run']) {
    const folder = await mkdtemp(join(tmpdir(), 'starloom-push-'));
    const receiver = await openReceiver();
    onTestFinished(async () => {
      await receiver[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    });
    const start = async () => {
      const jobs = await openSqliteJobs({ path: join(folder, 'jobs.db') });
      const gateway = await openTestGateway({ percy: { run } }, { config, jobs, conversationKey });
      const close = async () => {
        await gateway[Symbol.asyncDispose]();
        await jobs.close();
      };
      const reopen = () => openSqliteJobs({ path: join(folder, 'jobs.db') });
      return { url: `${gateway.url}/a2a/percy`, jobs, close, reopen };
    };
    return { receiver, start };
  }

  const begin = async (url: string, hook: string) => {
    const configuration = {
      taskPushNotificationConfig: { id: 'hook', url: hook, token: 'secret' },
    };
    const { body } = await rpc(url, 'SendMessage', { ...toMessage('x'), configuration });
    return body.result.task.id as string;
  };
  const states = ({ received }: Awaited<ReturnType<typeof openReceiver>>) =>
    received.map(({ body }) => stateOf(body)).filter((state) => state !== '');

  it('are still there, and get the updates that come after it, none twice', async () => {
    const { receiver, start } = await openWorld(waiting);
    const before = await start();
    const taskId = await begin(before.url, receiver.url);
    await expect.poll(() => states(receiver).at(-1)).toBe('TASK_STATE_INPUT_REQUIRED');
    const seen = receiver.received.length;
    await before.close();
    const after = await start();
    const listed = await rpc(after.url, 'ListTaskPushNotificationConfigs', { taskId });
    expect(listed.body.result.configs).toMatchObject([{ id: 'hook', url: receiver.url }]);
    await rpc(after.url, 'SendMessage', toMessage('blue', { taskId }));
    await expect.poll(() => states(receiver).at(-1)).toBe('TASK_STATE_COMPLETED');
    expect(receiver.received.length).toBeGreaterThan(seen);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(ids.length);
    await expect.poll(() => after.jobs.listDue(10)).toEqual([]);
    await after.close();
  });

  it('get the end of a task that is cancelled after it', async () => {
    const { receiver, start } = await openWorld(waiting);
    const before = await start();
    const id = await begin(before.url, receiver.url);
    await expect.poll(() => states(receiver).at(-1)).toBe('TASK_STATE_INPUT_REQUIRED');
    await before.close();
    const after = await start();
    await rpc(after.url, 'CancelTask', { id });
    await expect.poll(() => states(receiver).at(-1)).toBe('TASK_STATE_CANCELED');
    await after.close();
  });

  it('are left to the gateway that follows the task', async () => {
    const { receiver, start } = await openWorld(waiting);
    const before = await start();
    const taskId = await begin(before.url, receiver.url);
    await expect.poll(() => states(receiver).at(-1)).toBe('TASK_STATE_INPUT_REQUIRED');
    const seen = receiver.received.length;
    await before.close();
    const jobs = await before.reopen();
    const due = (await jobs.get(taskId))?.notes?.due as object;
    const value = { ...due, by: 'another', until: Date.now() + 3_600_000 };
    expect(await jobs.note(taskId, { name: 'due', was: due, value })).toBe(true);
    await jobs.close();
    const after = await start();
    const { body } = await rpc(after.url, 'SendMessage', toMessage('blue', { taskId }));
    expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    await after.close();
    expect(receiver.received).toHaveLength(seen);
  });
});
