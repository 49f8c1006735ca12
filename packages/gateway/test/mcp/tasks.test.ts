import { join } from 'node:path';
import { Closers, FabricError } from '@starloom/core';
import { openSqliteJobs } from '@starloom/jobs';
import { temporaryFolder } from '@starloom/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answers, openTestGateway, STRANGER_KEY, type TestAgent } from '../test-gateway.ts';
import { callTool, send } from './raw-call.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const declaring = {
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, extensions: { [TASKS]: {} } },
};
const NEVER: TestAgent['run'] = async function* () {
  yield { type: 'progress', data: { percent: 10, message: 'reading' } };
  await new Promise(() => {});
};
const asking: TestAgent['run'] = async function* (_envelope, _signal, context) {
  const given = await context?.ask?.([
    { id: 'a', kind: 'text', message: 'First?' },
    { id: 'b', kind: 'text', message: 'Second?' },
  ]);
  const said = given?.map(({ content }) => (content as { text: string }).text).join(' and ');
  yield { type: 'final', data: { answer: `you said ${said}` } };
};

describe('tasks of MCP', () => {
  let opened: Closers;
  beforeEach(() => {
    opened = new Closers();
  });
  afterEach(() => opened.close());

  const open = async (run: TestAgent['run'], tasks: Record<string, unknown> = { after_ms: 0 }) => {
    const folder = await temporaryFolder();
    opened.add(() => folder[Symbol.asyncDispose]());
    const jobs = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
    opened.add(() => jobs.close());
    const manifest = { capabilities: [{ name: 'work', tasks }] } as TestAgent['manifest'];
    const agents = { percy: { run, ...(manifest && { manifest }) } };
    const gateway = await openTestGateway(agents, { jobs });
    opened.add(() => gateway[Symbol.asyncDispose]());
    const { url } = gateway;
    const about = (method: string, taskId: string, params = {}, key?: string) =>
      send(url, `tasks/${method}`, taskId, { taskId, ...params, _meta: declaring }, key);
    return {
      url,
      about,
      start: async (params = {}) =>
        (await callTool(url, 'percy.work', { _meta: declaring, ...params })).answer.result,
      get: async (taskId: string) => (await about('get', taskId)).answer.result,
      until: (taskId: string, status: string) =>
        expect.poll(async () => (await about('get', taskId)).answer.result.status).toBe(status),
    };
  };

  it('[G4] are the jobs of calls that take longer, under the same id', async () => {
    const { url, start, get, until } = await open(answers('42'));
    const created = await start();
    expect(created).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 604_800_000 });
    expect(created).not.toHaveProperty('result');
    const { taskId } = created;
    await until(taskId, 'completed');
    expect(await get(taskId)).toMatchObject({
      resultType: 'complete',
      result: { content: [{ type: 'text', text: '42' }] },
    });
    const job = await callTool(url, 'fabric.job.status', { arguments: { job_id: taskId } });
    expect(job.answer.result.structuredContent).toMatchObject({
      job: { state: 'succeeded', result: { result: { answer: '42' }, agent_id: 'percy' } },
    });
  });

  it('are not needed for what is answered in time', async () => {
    const { start } = await open(answers('42'), { after_ms: 60_000 });
    expect(await start()).toMatchObject({
      resultType: 'complete',
      content: [{ type: 'text', text: '42' }],
    });
  });

  it('are for clients that declared them: others wait, or are refused', async () => {
    const { url, start } = await open(answers('42'));
    const waited = await callTool(url, 'percy.work');
    expect(waited.answer.result).toMatchObject({ resultType: 'complete' });
    const { taskId } = await start();
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { status, answer } = await send(url, method, taskId, { taskId, inputResponses: {} });
      expect(status).toBe(400);
      expect(answer.error).toMatchObject({
        code: -32_021,
        data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
      });
    }
    const strict = await open(answers('42'), { support: 'required' });
    const refused = await callTool(strict.url, 'percy.work');
    expect(refused.status).toBe(400);
    expect(refused.answer.error).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    });
    const called = await callTool(strict.url, 'fabric.call', { arguments: { capability: 'work' } });
    expect(called.answer.result.structuredContent).toMatchObject({ ok: true });
  });

  it('are completed with the error that an agent answered, and failed by any other', async () => {
    const answer = { isError: true, content: [{ type: 'text', text: 'no such file' }] };
    const details = { reason: 'tool_error' };
    const own = new FabricError('UPSTREAM_ERROR', 'no such file', { details, answer });
    // biome-ignore lint/correctness/useYield: it fails before it says anything
    const first = await open(async function* () {
      throw own;
    });
    const answered = await first.start();
    await first.until(answered.taskId, 'completed');
    expect((await first.get(answered.taskId)).result).toMatchObject(answer);
    // biome-ignore lint/correctness/useYield: it fails before it says anything
    const second = await open(async function* () {
      throw new FabricError('POLICY_DENIED', 'not allowed');
    });
    const failed = await second.start();
    await second.until(failed.taskId, 'failed');
    const task = await second.get(failed.taskId);
    expect(task.error).toMatchObject({ code: -32_003, message: 'not allowed' });
    expect(task).not.toHaveProperty('result');
  });

  it('[G7] are cancelled, and acknowledge it again when they are over', async () => {
    const { start, about, get, until } = await open(NEVER);
    const { taskId } = await start();
    await expect.poll(async () => (await get(taskId)).statusMessage).toBe('reading');
    for (const _ of ['running', 'over']) {
      const { answer } = await about('cancel', taskId);
      expect(answer.result).toMatchObject({ resultType: 'complete' });
      expect(answer.result).not.toHaveProperty('taskId');
      await until(taskId, 'cancelled');
    }
  });

  it('ask, and go on when every question is answered', async () => {
    const { start, about, get, until } = await open(asking);
    const { taskId } = await start();
    await until(taskId, 'input_required');
    const task = await get(taskId);
    expect(Object.keys(task.inputRequests)).toEqual(['a', 'b']);
    expect(task.inputRequests.a).toMatchObject({
      method: 'elicitation/create',
      params: { message: 'First?' },
    });
    const say = (id: string, text: string) =>
      about('update', taskId, {
        inputResponses: { [id]: { action: 'accept', content: { text } } },
      });
    expect((await say('unasked', 'x')).answer.result).toMatchObject({ resultType: 'complete' });
    await say('b', 'two');
    expect(Object.keys((await get(taskId)).inputRequests)).toEqual(['a']);
    await say('b', 'three');
    await say('a', 'one');
    await until(taskId, 'completed');
    expect((await get(taskId)).result.content[0].text).toBe('you said one and two');
  });

  it('are preceded by questions that come in time', async () => {
    const { start } = await open(asking, { after_ms: 60_000 });
    const asked = await start();
    expect(asked).toMatchObject({ resultType: 'input_required' });
    expect(asked).not.toHaveProperty('taskId');
    const response = { action: 'accept', content: { text: 'yes' } };
    const done = await start({
      requestState: asked.requestState,
      inputResponses: { a: response, b: response },
    });
    expect(done.content[0].text).toBe('you said yes and yes');
  });

  it('[G4] go on after a restart, under the same id', async () => {
    const folder = await temporaryFolder();
    opened.add(() => folder[Symbol.asyncDispose]());
    const path = join(folder.path, 'jobs.sqlite');
    const capabilities = [{ name: 'work', idempotent: true, tasks: { after_ms: 0 } }];
    const start = async (run: TestAgent['run']) => {
      const jobs = await openSqliteJobs({ path });
      const gateway = await openTestGateway(
        { percy: { run, manifest: { capabilities } } },
        { jobs, drainMs: 0 },
      );
      const close = async () => {
        await gateway[Symbol.asyncDispose]();
        await jobs.close();
      };
      return { url: gateway.url, close };
    };
    const first = await start(NEVER);
    const { answer } = await callTool(first.url, 'percy.work', { _meta: declaring });
    const { taskId } = answer.result;
    await first.close();
    const second = await start(answers('after the restart'));
    const get = async () =>
      (await send(second.url, 'tasks/get', taskId, { taskId, _meta: declaring })).answer.result;
    await expect.poll(async () => (await get()).status).toBe('completed');
    expect((await get()).result.content[0].text).toBe('after the restart');
    await second.close();
  });

  it('look unknown to others, and with ids that are none', async () => {
    const { url, start, about } = await open(asking);
    const { taskId } = await start();
    const refusals = await Promise.all([
      about('get', taskId, {}, STRANGER_KEY),
      about('update', taskId, { inputResponses: {} }, STRANGER_KEY),
      about('cancel', taskId, {}, STRANGER_KEY),
      about('get', crypto.randomUUID()),
      about('get', 'x'),
    ]);
    for (const { answer } of refusals) {
      expect(answer.error).toEqual({ code: -32_602, message: 'There is no such task' });
    }
    const stolen = { requestState: `job:${taskId}`, inputResponses: {}, _meta: declaring };
    const params = { name: 'percy.work', arguments: {}, ...stolen };
    const { answer } = await send(url, 'tools/call', 'percy.work', params, STRANGER_KEY);
    expect(answer.error).toMatchObject({ code: -32_602 });
  });

  it('are named in the header of every request about them', async () => {
    const { url, start } = await open(NEVER);
    const { taskId } = await start();
    const { status, answer } = await send(url, 'tasks/get', 'other', { taskId, _meta: declaring });
    expect(status).toBe(400);
    expect(answer.error).toMatchObject({ code: -32_020 });
  });

  it('are there only where jobs are', async () => {
    await using gateway = await openTestGateway({ percy: { run: answers('42') } });
    const { answer } = await send(gateway.url, 'tasks/get', 'x', { taskId: 'x', _meta: declaring });
    expect(answer.error).toMatchObject({ code: -32_601 });
  });
});
