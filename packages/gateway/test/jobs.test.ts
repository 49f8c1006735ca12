import { join } from 'node:path';
import {
  type Clock,
  Closers,
  type EventBody,
  FabricError,
  type FabricEvent,
  systemClock,
} from '@starloom/core';
import { createPskVerifier } from '@starloom/identity';
import { openSqliteJobs } from '@starloom/jobs';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  answers,
  call,
  connect,
  KEY,
  openTestGateway,
  STRANGER_KEY,
  type TestAgent,
  type TestGatewayOptions,
} from './test-gateway.ts';

const slow = (gate: Promise<void>): TestAgent['run'] =>
  async function* () {
    yield { type: 'token', data: { text: 'thinking' } };
    await gate;
    yield { type: 'final', data: { answer: 'done' } };
  };

describe('jobs of the gateway', () => {
  let folder: TemporaryFolder;
  let opened: Closers;
  beforeEach(async () => {
    opened = new Closers();
    folder = await temporaryFolder();
    opened.add(() => folder[Symbol.asyncDispose]());
  });
  afterEach(() => opened.close());

  const open = async (
    agents: Record<string, TestAgent>,
    {
      clock = systemClock,
      ...options
    }: Pick<TestGatewayOptions, 'config' | 'psk'> & { clock?: Clock } = {},
  ) => {
    const jobs = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite'), clock });
    const gateway = await openTestGateway(agents, { jobs, ...options });
    const close = async () => {
      await gateway[Symbol.asyncDispose]();
      await jobs.close();
    };
    return { ...gateway, close };
  };
  it('refuses a webhook to an address of our own network when the job is made', async () => {
    const gateway = await open({ a: { run: answers('x') } });
    opened.add(gateway.close);
    await using client = await connect(gateway.url);
    for (const url of ['http://127.0.0.1:9/x', 'https://10.1.2.3/', 'http://localhost/']) {
      const args = { agent_id: 'a', capability: 'work', async: true, webhook: { url } };
      const { payload } = await call(client, 'fabric.call', args);
      expect(payload.error).toMatchObject({ code: 'BAD_INPUT', details: { reason: 'webhook' } });
    }
    expect((await call(client, 'fabric.job.list', {})).payload.jobs).toEqual([]);
  });

  const ended = async (client: Awaited<ReturnType<typeof connect>>, job_id: string) => {
    await expect
      .poll(async () => (await call(client, 'fabric.job.status', { job_id })).payload.job.state)
      .toMatch(/succeeded|failed|cancelled/);
    return (await call(client, 'fabric.job.status', { job_id })).payload.job;
  };

  it('[G4] answers an asynchronous call with a job, whose result is what the call answers', async () => {
    const gateway = await open({ percy: { run: answers('42') } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work', async: true });
    expect(payload).toMatchObject({ ok: true, state: 'queued' });
    const job = await ended(client, payload.job_id);
    expect(job).toMatchObject({
      state: 'succeeded',
      capability: 'work',
      attempt: 1,
      result: { ok: true, result: { answer: '42' }, agent_id: 'percy', attempts: [{ ok: true }] },
    });
    const metrics = await gateway.observer.metricsText();
    expect(metrics).toContain('starloom_jobs{state="succeeded"} 1');
    expect(metrics).toContain('starloom_job_attempts_total{mode="start"} 1');
    expect(metrics).toContain('starloom_jobs_oldest_queued_seconds 0');
    await gateway.close();
  });

  it('[G7] streams a job from a cursor, with the cursor on every notification', async () => {
    const gate = Promise.withResolvers<void>();
    const gateway = await open({ percy: { run: slow(gate.promise) } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work', async: true });
    const { job_id } = payload;
    const cursors: unknown[] = [];
    const types: string[] = [];
    const following = client.callTool(
      { name: 'fabric.job.stream', arguments: { job_id } },
      {
        onprogress: (progress) => {
          const meta = (progress as { _meta?: Record<string, FabricEvent> })._meta ?? {};
          cursors.push(meta['io.starloom/cursor']);
          types.push(String(meta['io.starloom/event']?.type));
        },
      },
    );
    await expect.poll(() => types).toContain('token');
    gate.resolve();
    const { structuredContent } = await following;
    expect(structuredContent).toMatchObject({ ok: true, job: { state: 'succeeded' } });
    await expect.poll(() => types.at(-1)).toBe('final');
    expect(cursors).toEqual(cursors.map((_, index) => index + 1));
    const page = await call(client, 'fabric.job.stream', { job_id, after: 1 }, { events: false });
    expect(page.payload).toMatchObject({ ok: true, cursor: cursors.length });
    expect(page.payload.events).toHaveLength(cursors.length - 1);
    const future = await call(client, 'fabric.job.stream', { job_id, after: 99 });
    expect(future.payload).toMatchObject({ ok: false, error: { code: 'BAD_INPUT' } });
    await gateway.close();
  });

  it('[G7] cancels a running job', async () => {
    const gateway = await open({ percy: { run: slow(new Promise(() => {})) } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work', async: true });
    const { job_id } = payload;
    await expect
      .poll(async () => (await call(client, 'fabric.job.status', { job_id })).payload.job.cursor)
      .toBeGreaterThan(0);
    await call(client, 'fabric.job.cancel', { job_id });
    expect(await ended(client, job_id)).toMatchObject({
      state: 'cancelled',
      error: { code: 'CANCELLED' },
    });
    const again = await call(client, 'fabric.job.cancel', { job_id });
    expect(again.payload).toMatchObject({ ok: true, job: { state: 'cancelled' } });
    await gateway.close();
  });

  it('has one answer for unknown, foreign and malformed ids', async () => {
    const gateway = await open({ percy: { run: answers('42') } });
    await using client = await connect(gateway.url);
    const headers = { authorization: `Bearer ${STRANGER_KEY}` };
    await using stranger = await connect(gateway.url, 'auto', headers);
    const { payload } = await call(client, 'fabric.call', { capability: 'work', async: true });
    for (const job_id of [payload.job_id, crypto.randomUUID(), 'x']) {
      for (const tool of ['status', 'stream', 'cancel', 'retry']) {
        const { payload: refused } = await call(stranger, `fabric.job.${tool}`, { job_id });
        expect(refused.error).toMatchObject({
          code: 'JOB_NOT_FOUND',
          message: 'There is no such job',
        });
      }
    }
    const { payload: list } = await call(stranger, 'fabric.job.list', {});
    expect(list).toMatchObject({ ok: true, jobs: [] });
    await gateway.close();
  });

  it('shows and repeats a job only for a key that may use its agent', async () => {
    const owner = { principal: 'owner', tier: 'org' } as const;
    const psk = createPskVerifier([
      { ...owner, key_id: 'all', key: KEY, scopes: ['*'] },
      { ...owner, key_id: 'other', key: STRANGER_KEY, scopes: ['agent:other'] },
    ]);
    const agents = { percy: { run: answers('42') }, other: { run: answers('43') } };
    const gateway = await open(agents, { psk });
    await using client = await connect(gateway.url);
    const headers = { authorization: `Bearer ${STRANGER_KEY}` };
    await using limited = await connect(gateway.url, 'auto', headers);
    const start = async (agent_id: string): Promise<string> => {
      const target = { agent_id, capability: 'work', async: true };
      return (await call(client, 'fabric.call', target)).payload.job_id;
    };
    const [hidden, shown] = [await start('percy'), await start('other')];
    for (const job_id of [hidden, shown]) await ended(client, job_id);
    const inputs = [{ id: 'q', response: { action: 'accept', content: {} } }];
    for (const [tool, more] of Object.entries({
      status: {},
      stream: {},
      cancel: {},
      retry: {},
      input: { inputs },
    })) {
      const args = { job_id: hidden, ...more };
      const { payload } = await call(limited, `fabric.job.${tool}`, args);
      expect([tool, payload.error?.code]).toEqual([tool, 'JOB_NOT_FOUND']);
    }
    expect((await call(limited, 'fabric.job.retry', { job_id: shown })).payload.ok).toBe(true);
    const { payload: list } = await call(limited, 'fabric.job.list', {});
    expect(list.jobs).toHaveLength(2);
    expect(JSON.stringify(list.jobs)).not.toContain('percy');
    await gateway.close();
  });

  it('waits in a job for an answer to what the agent asks', async () => {
    const asking: TestAgent['run'] = async function* (_envelope, _signal, context) {
      const [response] =
        (await context?.ask?.([{ id: 'q', kind: 'text', message: 'Which?' }])) ?? [];
      yield { type: 'final', data: { answer: `you said ${JSON.stringify(response?.content)}` } };
    };
    const gateway = await open({ percy: { run: asking } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work', async: true });
    const { job_id } = payload;
    const status = async () => (await call(client, 'fabric.job.status', { job_id })).payload.job;
    await expect.poll(async () => (await status()).state).toBe('awaiting_input');
    expect((await status()).inputs).toMatchObject([{ id: 'q', message: 'Which?' }]);
    const inputs = [{ id: 'q', response: { action: 'accept', content: { text: 'red' } } }];
    const unfit = [{ id: 'q', response: { action: 'accept', content: 7 } }];
    const { payload: refused } = await call(client, 'fabric.job.input', { job_id, inputs: unfit });
    expect(refused.error).toMatchObject({ code: 'BAD_INPUT' });
    expect((await status()).state).toBe('awaiting_input');
    const { payload: answered } = await call(client, 'fabric.job.input', { job_id, inputs });
    expect(answered).toMatchObject({ ok: true });
    const job = await ended(client, job_id);
    expect(job.error).toBeUndefined();
    expect(job).toMatchObject({
      state: 'succeeded',
      result: { result: { answer: 'you said {"text":"red"}' } },
    });
    const { payload: twice } = await call(client, 'fabric.job.input', { job_id, inputs });
    expect(twice.error).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'no_open_question' },
    });
    await gateway.close();
  });

  it('[G7] ends the attempt that waits for an answer when its job is cancelled', async () => {
    const stopped = Promise.withResolvers<boolean>();
    const asking: TestAgent['run'] = async function* (_envelope, signal, context) {
      signal.addEventListener('abort', () => stopped.resolve(true));
      await context?.ask?.([{ id: 'q', kind: 'text', message: 'Which?' }]);
      yield { type: 'final', data: { answer: 'not cancelled' } };
    };
    const gateway = await open({ percy: { run: asking } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work', async: true });
    const { job_id } = payload;
    const status = async () => (await call(client, 'fabric.job.status', { job_id })).payload.job;
    await expect.poll(async () => (await status()).state).toBe('awaiting_input');
    await call(client, 'fabric.job.cancel', { job_id });
    expect(await ended(client, job_id)).toMatchObject({
      state: 'cancelled',
      error: { details: { confirmed: true } },
    });
    expect(await stopped.promise).toBe(true);
    await gateway.close();
  });

  it('turns a long call into a job instead of a timeout', async () => {
    const gate = Promise.withResolvers<void>();
    const gateway = await open({
      percy: { run: slow(gate.promise) },
      quick: { run: answers('now'), manifest: { capabilities: [{ name: 'quick' }] } },
    });
    await using client = await connect(gateway.url);
    const args = { capability: 'work', promote_after_ms: 100 };
    const { payload } = await call(client, 'fabric.call', args);
    expect(payload).toMatchObject({ ok: true, job_id: expect.any(String), state: 'running' });
    gate.resolve();
    expect(await ended(client, payload.job_id)).toMatchObject({ state: 'succeeded' });
    const quick = await call(client, 'fabric.call', {
      capability: 'quick',
      promote_after_ms: 10_000,
    });
    expect(quick.payload).toMatchObject({ ok: true, result: { answer: 'now' } });
    await gateway.close();
  });

  it('makes one call of two with the same key, synchronous ones too', async () => {
    let calls = 0;
    const counting: TestAgent['run'] = async function* (): AsyncIterable<EventBody> {
      calls += 1;
      yield { type: 'final', data: { answer: `call ${calls}` } };
    };
    const gateway = await open({ percy: { run: counting } });
    await using client = await connect(gateway.url);
    const args = { capability: 'work', task: 'pay', idempotency_key: 'k1' };
    const both = await Promise.all([
      call(client, 'fabric.call', args),
      call(client, 'fabric.call', args),
    ]);
    for (const { payload } of both) expect(payload).toMatchObject({ result: { answer: 'call 1' } });
    const later = await call(client, 'fabric.call', args);
    expect(later.payload).toMatchObject({ ok: true, result: { answer: 'call 1' } });
    expect(calls).toBe(1);
    const other = await call(client, 'fabric.call', { ...args, task: 'pay more' });
    expect(other.payload.error).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'idempotency_key_reused' },
    });
    await gateway.close();
  });

  it('refuses jobs beyond the quota of their principal, or too far ahead, with reason and fix', async () => {
    const config = { jobs: { kind: 'sqlite', per_principal: 2, ahead_hours: 48 } };
    const gateway = await open({ percy: { run: answers('42') } }, { config });
    await using client = await connect(gateway.url);
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const submit = (hours: number) =>
      call(client, 'fabric.call', { capability: 'work', async: true, run_at: inHours(hours) });
    expect((await submit(49)).payload.error).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'too_far_ahead', fix: expect.stringContaining('jobs.ahead_hours') },
    });
    const { payload } = await submit(47);
    await submit(47);
    const over = {
      code: 'RATE_LIMITED',
      details: { reason: 'jobs_quota', limit: 2, fix: expect.stringContaining('per_principal') },
    };
    expect((await submit(47)).payload.error).toMatchObject(over);
    await call(client, 'fabric.job.cancel', { job_id: payload.job_id });
    const retried = await call(client, 'fabric.job.retry', { job_id: payload.job_id });
    expect(retried.payload).toMatchObject({ ok: true, job: { retry_of: payload.job_id } });
    await gateway.close();
  });

  it('does not keep a large call of a cancelled job, and says so to a retry', async () => {
    const gateway = await open({ percy: { run: answers('42') } });
    await using client = await connect(gateway.url);
    const run_at = new Date(Date.now() + 3_600_000).toISOString();
    const task = 'x'.repeat(10_000);
    const asked = { capability: 'work', task, async: true, run_at };
    const { payload } = await call(client, 'fabric.call', asked);
    const { job_id } = payload;
    await call(client, 'fabric.job.cancel', { job_id });
    const retried = await call(client, 'fabric.job.retry', { job_id });
    expect(retried.payload.error).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'call_removed' },
    });
    await gateway.close();
  });

  it('goes on after a restart with what it had accepted', async () => {
    const first = await open({ percy: { run: slow(new Promise(() => {})) } });
    await using client = await connect(first.url);
    const run_at = new Date(Date.now() + 300).toISOString();
    const { payload } = await call(client, 'fabric.call', {
      capability: 'work',
      async: true,
      run_at,
    });
    await first.close();
    const second = await open({ percy: { run: answers('after the restart') } });
    await using again = await connect(second.url);
    expect(await ended(again, payload.job_id)).toMatchObject({
      state: 'succeeded',
      result: { result: { answer: 'after the restart' } },
    });
    await second.close();
  });

  it('finishes a job that runs before it shuts down', async () => {
    const started = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const run: TestAgent['run'] = async function* () {
      started.resolve();
      await gate.promise;
      yield { type: 'final', data: { answer: 'done' } };
    };
    const gateway = await open({ percy: { run } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work', async: true });
    await started.promise;
    const closing = gateway.close();
    gate.resolve();
    await closing;
    const jobs = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
    expect(await jobs.get(payload.job_id)).toMatchObject({ state: 'succeeded' });
    await jobs.close();
  });

  it('refuses a call that no agent can serve before there is a job', async () => {
    const gateway = await open({ percy: { run: answers('42') } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'none', async: true });
    expect(payload).toMatchObject({ ok: false, error: { code: 'CAPABILITY_NOT_FOUND' } });
    const { payload: list } = await call(client, 'fabric.job.list', {});
    expect(list.jobs).toEqual([]);
    await gateway.close();
  });

  it('tries a capability as often as its manifest says', async () => {
    let calls = 0;
    // biome-ignore lint/correctness/useYield: it fails before it says anything
    const offline: TestAgent['run'] = async function* () {
      calls += 1;
      throw new FabricError('AGENT_OFFLINE', 'away', { details: { sent: false } });
    };
    const retries = { attempts: 2, backoff_ms: 1 };
    const capabilities = [{ name: 'work', idempotent: true, retries }];
    const gateway = await open({ percy: { run: offline, manifest: { capabilities } } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work', async: true });
    expect(await ended(client, payload.job_id)).toMatchObject({ state: 'failed', attempt: 2 });
    expect(calls).toBe(2);
    const metrics = await gateway.observer.metricsText();
    expect(metrics).toContain('starloom_jobs{state="failed"} 1');
    await gateway.close();
  });

  it('ends a job at the deadline of its capability', async () => {
    const capabilities = [{ name: 'work', deadline_ms: 50 }];
    const run = slow(new Promise(() => {}));
    const gateway = await open({ percy: { run, manifest: { capabilities } } });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work', async: true });
    expect(await ended(client, payload.job_id)).toMatchObject({
      state: 'failed',
      error: { code: 'TIMEOUT' },
    });
    await gateway.close();
  });

  it('counts jobs by state, and says how long the oldest has waited', async () => {
    const clock = { ...systemClock, now: () => Date.now() - 60_000 };
    const config = { jobs: { kind: 'sqlite', concurrency: 1 } };
    const run = slow(new Promise(() => {}));
    const gateway = await open({ percy: { run } }, { config, clock });
    await using client = await connect(gateway.url);
    for (let count = 0; count < 2; count += 1) {
      await call(client, 'fabric.call', { capability: 'work', async: true });
    }
    const metrics = () => gateway.observer.metricsText();
    await expect.poll(metrics).toContain('starloom_jobs{state="running"} 1');
    const text = await metrics();
    expect(text).toContain('starloom_jobs{state="queued"} 1');
    const [, age = '0'] = /^starloom_jobs_oldest_queued_seconds (\S+)$/m.exec(text) ?? [];
    expect(Number(age)).toBeGreaterThanOrEqual(60);
    const { payload } = await call(client, 'fabric.job.list', {});
    for (const { job_id } of payload.jobs) await call(client, 'fabric.job.cancel', { job_id });
    await gateway.close();
  });

  it('makes a job at the times of a schedule, for the principal that it names', async () => {
    let late = 0;
    const begun = Date.now();
    const clock = { ...systemClock, now: () => begun + late };
    const nightly = { name: 'nightly', cron: '* * * * *', agent_id: 'percy', capability: 'work' };
    const psk = [{ key_id: 'k', key: 'env:TEST_KEY', principal: 'tester' }];
    const schedules = [{ ...nightly, arguments: { depth: 3 }, principal: 'tester' }];
    const config = { auth: { psk }, jobs: { kind: 'sqlite', schedules } };
    const given: unknown[] = [];
    const run: TestAgent['run'] = async function* ({ input }) {
      given.push(input.arguments);
      yield { type: 'final', data: { answer: 'done' } };
    };
    const gateway = await open({ percy: { run } }, { config, clock });
    await using client = await connect(gateway.url);
    late = 61_000;
    const list = async () => (await call(client, 'fabric.job.list', {})).payload.jobs;
    await expect.poll(async () => (await list())[0]?.state, { timeout: 10_000 }).toBe('succeeded');
    expect(given).toEqual([{ depth: 3 }]);
    await gateway.close();
    const without = await open({ percy: { run } }, { clock });
    await without.close();
    const jobs = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
    expect(await jobs.schedules()).toEqual([]);
    await jobs.close();
  });

  it('lists the tools of jobs only where there are jobs', async () => {
    const gateway = await open({ percy: { run: answers('42') } });
    await using client = await connect(gateway.url);
    const names = (await client.listTools()).tools.map(({ name }) => name.replaceAll('_', '.'));
    expect(names).toContain('fabric.job.status');
    await gateway.close();
    await using without = await openTestGateway({ percy: { run: answers('42') } });
    await using other = await connect(without.url);
    const fewer = (await other.listTools()).tools.map(({ name }) => name.replaceAll('_', '.'));
    expect(fewer).not.toContain('fabric.job.status');
  });

  it.each([{ async: true }, { promote_after_ms: 100 }, { priority: 1 }])(
    'is neither shown nor taken where there are none: %o',
    async (terms) => {
      await using gateway = await openTestGateway({ percy: { run: answers('42') } });
      await using client = await connect(gateway.url);
      const shown = (await client.listTools()).tools.find(({ name }) => name === 'fabric.call');
      const [term = ''] = Object.keys(terms);
      expect(Object.keys(shown?.inputSchema.properties ?? {})).not.toContain(term);
      const { payload } = await call(client, 'fabric.call', { capability: 'work', ...terms });
      expect(payload.error.code).toBe('BAD_INPUT');
    },
  );
});
