import { CLAIM_LOST, FabricError, isFinal, type JobEngine, type NewJob } from '@starloom/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createMemoryJobEngine,
  JobDesk,
  JobRunner,
  type JobRunnerOptions,
  type RunJob,
} from '../src/index.ts';
import { exampleJob } from './contract/job-driver.ts';

const LEASE_MS = 300;
const NO_WAIT = { attempts: 3, backoff_ms: 0, max_backoff_ms: 0 };

const echo: RunJob = async (call, { markSent }) => {
  await markSent();
  return done(String((call as { task: string }).task));
};

function done(answer: string) {
  return { state: 'succeeded', agentId: 'subject', final: { answer }, result: { answer } } as const;
}

/** The engine with some of its steps replaced. */
function withSteps(engine: JobEngine, steps: Partial<JobEngine>): JobEngine {
  return new Proxy(engine, {
    get: (target, name) => {
      const own = Reflect.get(Object.hasOwn(steps, name) ? steps : target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

describe('job runner', () => {
  let engine: JobEngine;
  let runners: JobRunner[];
  beforeEach(() => {
    engine = createMemoryJobEngine();
    runners = [];
  });
  afterEach(async () => {
    await Promise.all(runners.map((runner) => runner.stop()));
    await engine.close();
  });

  const start = (run: RunJob, options: Partial<JobRunnerOptions> = {}) => {
    const runner = new JobRunner({ engine, run, leaseMs: LEASE_MS, pollMs: 20, ...options });
    runners.push(runner);
    runner.start();
    return runner;
  };
  const submit = async (change: Partial<NewJob> = {}) =>
    (await engine.create(exampleJob(change))).job.id;
  const state = async (id: string) => (await engine.get(id))?.state;
  const ended = async (id: string) => {
    await expect.poll(async () => isFinal((await state(id)) ?? 'queued')).toBe(true);
    return (await engine.get(id)) ?? expect.fail('gone');
  };
  const typesOf = async (id: string) => {
    const { events } = await engine.events(id, { after: 0, limit: 1000 });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    return events.map((event) => (event.type === 'status' ? event.data.state : event.type));
  };

  it('runs jobs, old and new, and stores events and result', async () => {
    const before = await submit({ call: { task: 'a' } });
    start(async (call, context) => {
      await context.markSent();
      await context.emit({ type: 'token', data: { text: 'x' } }, 'subject');
      void context.emit({ type: 'progress', data: { percent: 50 } }, 'subject');
      return done((call as { task: string }).task);
    });
    const after = await submit({ call: { task: 'b' } });
    expect(await ended(before)).toMatchObject({ state: 'succeeded', result: { answer: 'a' } });
    expect(await ended(after)).toMatchObject({ state: 'succeeded', result: { answer: 'b' } });
    expect(await typesOf(after)).toEqual(['token', 'progress', 'final']);
  });

  it('fails a job with the error of its call', async () => {
    start(async (_, { markSent }) => {
      await markSent();
      const details = { reason: 'tool_error' };
      throw new FabricError('UPSTREAM_ERROR', 'no', { details });
    });
    const job = await ended(await submit({ idempotent: true, retry: NO_WAIT }));
    expect(job).toMatchObject({ state: 'failed', attempt: 1, error: { code: 'UPSTREAM_ERROR' } });
    expect(await typesOf(job.id)).toEqual(['error']);
  });

  it('hides a bug of the call behind INTERNAL', async () => {
    start(() => Promise.reject(new TypeError('secret')));
    const job = await ended(await submit());
    expect(job).toMatchObject({ state: 'failed', error: { code: 'INTERNAL' } });
    expect(JSON.stringify(job)).not.toContain('secret');
  });

  it('retries an idempotent call as often as its policy says', async () => {
    let calls = 0;
    start(async (_, { markSent }) => {
      await markSent();
      calls += 1;
      throw new FabricError('AGENT_OFFLINE', 'away');
    });
    const job = await ended(await submit({ idempotent: true, retry: NO_WAIT }));
    expect(calls).toBe(3);
    expect(job).toMatchObject({ state: 'failed', attempt: 3, error: { code: 'AGENT_OFFLINE' } });
    expect(await typesOf(job.id)).toEqual(['retrying', 'retrying', 'error']);
  });

  it('repeats no other call that may have been sent', async () => {
    let calls = 0;
    start(async (_, { markSent }) => {
      await markSent();
      calls += 1;
      throw new FabricError('TIMEOUT', 'late');
    });
    expect(await ended(await submit({ retry: NO_WAIT }))).toMatchObject({
      state: 'failed',
      attempt: 1,
    });
    expect(calls).toBe(1);
  });

  it('repeats any call that was not sent', async () => {
    let calls = 0;
    start(async (call, { markSent, job, emit, signal, mode, keepHandle, ask }) => {
      calls += 1;
      if (calls === 1) throw new FabricError('OVERLOADED', 'busy');
      if (calls === 2) {
        await markSent();
        throw new FabricError('AGENT_OFFLINE', 'refused', { details: { sent: false } });
      }
      return echo(call, { markSent, job, emit, signal, mode, keepHandle, ask });
    });
    const job = await ended(await submit({ retry: NO_WAIT }));
    expect(job).toMatchObject({ state: 'succeeded', attempt: 3 });
  });

  it('begins the job of one principal before the last of many that it claimed with it', async () => {
    const begun: string[] = [];
    for (let n = 0; n < 30; n += 1) await submit({ principalId: 'flood' });
    const last = await submit({ principalId: 'ordinary' });
    start(async (call, context) => {
      for (const end = performance.now() + 1; performance.now() < end; );
      begun.push(context.job.principal_id);
      return await echo(call, context);
    });
    await ended(last);
    await expect.poll(() => begun.length).toBe(31);
    expect(begun.indexOf('ordinary')).toBeLessThan(15);
  });

  it('begins a bounded number of quick jobs at once, and runs all slow ones side by side', async () => {
    let running = 0;
    let most = 0;
    const gate = Promise.withResolvers<void>();
    start(async (call) => {
      running += 1;
      most = Math.max(most, running);
      const { task } = call as { task: string };
      if (task === 'slow') await gate.promise;
      running -= 1;
      return done('ok');
    });
    const several = (task: string) =>
      Promise.all(Array.from({ length: 100 }, () => submit({ call: { task } })));
    for (const id of await several('quick')) await ended(id);
    expect(most).toBeLessThanOrEqual(32);
    const slow = await several('slow');
    await expect.poll(() => running).toBe(100);
    gate.resolve();
    for (const id of slow) await ended(id);
  });

  it('runs no more at once than it may', async () => {
    let running = 0;
    let most = 0;
    const gate = Promise.withResolvers<void>();
    start(
      async () => {
        running += 1;
        most = Math.max(most, running);
        await gate.promise;
        running -= 1;
        return done('ok');
      },
      { concurrency: 3 },
    );
    const ids = await Promise.all(Array.from({ length: 8 }, () => submit()));
    await expect.poll(() => running).toBe(3);
    gate.resolve();
    for (const id of ids) await ended(id);
    expect(most).toBe(3);
  });

  it('keeps the lease of a long job', async () => {
    const gate = Promise.withResolvers<void>();
    let calls = 0;
    const run: RunJob = async () => {
      calls += 1;
      await gate.promise;
      return done('long');
    };
    start(run);
    start(run);
    const id = await submit({ idempotent: true });
    const since = performance.now();
    await expect.poll(() => performance.now() - since > 3 * LEASE_MS).toBe(true);
    gate.resolve();
    expect(await ended(id)).toMatchObject({ state: 'succeeded', attempt: 1 });
    expect(calls).toBe(1);
  });

  it('cancels a running call: requested, delivered, confirmed', async () => {
    const started = Promise.withResolvers<void>();
    start(async (_, { signal, markSent }) => {
      await markSent();
      started.resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    });
    const id = await submit({ idempotent: true });
    await started.promise;
    await engine.requestCancel(id);
    const job = await ended(id);
    expect(job).toMatchObject({
      state: 'cancelled',
      error: { code: 'CANCELLED', details: { confirmed: true } },
    });
    expect(job.cancel?.delivered_at).toBeDefined();
  });

  it('forces a cancellation that the call ignores', async () => {
    const started = Promise.withResolvers<void>();
    start(
      () => {
        started.resolve();
        return new Promise(() => {});
      },
      { cancelGraceMs: 50 },
    );
    const id = await submit();
    await started.promise;
    await engine.requestCancel(id);
    const { error } = await ended(id);
    expect(error).toMatchObject({ code: 'CANCELLED', details: { confirmed: false, forced: true } });
  });

  it('keeps the result of a call that ended before its cancellation arrived', async () => {
    const started = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    start(async () => {
      started.resolve();
      await gate.promise;
      return done('in time');
    });
    const id = await submit();
    await started.promise;
    await engine.requestCancel(id);
    gate.resolve();
    expect(await ended(id)).toMatchObject({ state: 'succeeded', result: { answer: 'in time' } });
  });

  it('ends a job at its deadline', async () => {
    start((_, { signal }) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    });
    const job = await ended(await submit({ deadlineAt: Date.now() + 50, retry: NO_WAIT }));
    expect(job).toMatchObject({ state: 'failed', error: { code: 'TIMEOUT' } });
  });

  it('parks an attempt that asks, and goes on with the answers', async () => {
    start(async (_, { markSent, ask, emit }) => {
      await markSent();
      await emit({ type: 'token', data: { text: 'a' } }, 'subject');
      const [answer] = await ask([{ id: 'q', message: 'Which?' }]);
      await emit({ type: 'token', data: { text: 'b' } }, 'subject');
      return done(String(answer?.response.content));
    });
    const id = await submit();
    await expect.poll(() => state(id)).toBe('awaiting_input');
    await engine.answer(id, [{ id: 'q', response: { content: 'red' } }]);
    expect(await ended(id)).toMatchObject({ state: 'succeeded', result: { answer: 'red' } });
    const { events } = await engine.events(id, { after: 0, limit: 9 });
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 1, 2]);
  });

  it('leaves an agent that keeps its question, and rejoins it with the answers', async () => {
    const modes: string[] = [];
    start(async (_, { mode, job, answers, markSent }) => {
      modes.push(mode);
      await markSent();
      if (mode === 'rejoin') return done(`${job.handle?.task}: ${answers?.[0]?.response.content}`);
      const inputs = [{ id: 'q', message: 'Which?' }];
      return { state: 'awaiting_input', agentId: 'subject', inputs, handle: { task: 't1' } };
    });
    const id = await submit();
    await expect.poll(() => state(id)).toBe('awaiting_input');
    await engine.answer(id, [{ id: 'q', response: { content: 'red' } }]);
    expect(await ended(id)).toMatchObject({ state: 'succeeded', result: { answer: 't1: red' } });
    expect(modes).toEqual(['start', 'rejoin']);
  });

  it('does not send a call again whose task cannot be rejoined', async () => {
    const modes: string[] = [];
    start(async (_, { mode, markSent }) => {
      modes.push(mode);
      const details = { sent: false };
      if (mode === 'rejoin') throw new FabricError('AGENT_OFFLINE', 'It is away', { details });
      await markSent();
      const inputs = [{ id: 'q', message: 'Which?' }];
      return { state: 'awaiting_input', agentId: 'subject', inputs, handle: { task: 't1' } };
    });
    const id = await submit();
    await expect.poll(() => state(id)).toBe('awaiting_input');
    await engine.answer(id, [{ id: 'q', response: { content: 'red' } }]);
    expect(await ended(id)).toMatchObject({ state: 'failed', error: { code: 'AGENT_OFFLINE' } });
    expect(modes).toEqual(['start', 'rejoin']);
  });

  it('cancels what an agent keeps by its handle', async () => {
    const cancelled: unknown[] = [];
    start(
      async () => {
        const inputs = [{ id: 'q' }];
        return { state: 'awaiting_input', agentId: 'subject', inputs, handle: { task: 't1' } };
      },
      { cancelUpstream: async ({ handle }) => void cancelled.push(handle) },
    );
    const id = await submit();
    await expect.poll(() => state(id)).toBe('awaiting_input');
    await engine.requestCancel(id);
    expect(await ended(id)).toMatchObject({
      state: 'cancelled',
      error: { details: { confirmed: true } },
    });
    expect(cancelled).toEqual([{ task: 't1' }]);
  });

  it('sends nothing after a pause in which another worker took the job', async () => {
    const pause = Promise.withResolvers<void>();
    let isPaused = false;
    const late = <Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) => {
      return async (...args: Args) => {
        const result = await work(...args);
        isPaused = true;
        await pause.promise;
        return result;
      };
    };
    const paused = withSteps(engine, {
      markSent: late((claim) => engine.markSent(claim)),
      renew: late((claims, leaseMs) => engine.renew(isPaused ? [] : claims, leaseMs)),
    });
    const sent: string[] = [];
    const send =
      (by: string): RunJob =>
      async (_, { markSent }) => {
        await markSent();
        sent.push(by);
        return done(by);
      };
    const first = start(send('first'), { engine: paused });
    const id = await submit({ idempotent: true });
    await expect.poll(() => isPaused).toBe(true);
    start(send('second'));
    expect(await ended(id)).toMatchObject({ result: { answer: 'second' } });
    pause.resolve();
    await expect.poll(() => first.active).toBe(0);
    expect(sent).toEqual(['second']);
  });

  it('gives back what it has not sent when it stops, and leaves nothing half done', async () => {
    const started = Promise.withResolvers<void>();
    const first = start(() => {
      started.resolve();
      return new Promise(() => {});
    });
    const id = await submit();
    await started.promise;
    await first.stop();
    expect(await engine.get(id)).toMatchObject({ state: 'queued', attempt: 0 });
    start(echo);
    expect(await ended(id)).toMatchObject({ state: 'succeeded', attempt: 1 });
  });

  it('gives back what runs at an agent when it stops, and the next worker joins it', async () => {
    const modes: string[] = [];
    const reasons: unknown[] = [];
    const kept = Promise.withResolvers<void>();
    const run: RunJob = async (_, { mode, job, signal, markSent, keepHandle }) => {
      modes.push(mode);
      if (mode === 'rejoin') return done(`joined ${job.handle?.task}`);
      signal.addEventListener('abort', () => reasons.push(signal.reason.details.reason));
      await markSent();
      await keepHandle({ task: 't1' });
      kept.resolve();
      return new Promise(() => {});
    };
    const first = start(run);
    const id = await submit();
    await kept.promise;
    await first.stop();
    expect(reasons).toEqual([CLAIM_LOST]);
    start(run);
    expect(await ended(id)).toMatchObject({
      state: 'succeeded',
      attempt: 1,
      result: { answer: 'joined t1' },
    });
    expect(modes).toEqual(['start', 'rejoin']);
  });

  it('fails a job whose result is too large, and keeps the job', async () => {
    const refusing = new Proxy(engine, {
      get: (target, name: keyof JobEngine) => {
        const method = target[name];
        if (typeof method !== 'function') return method;
        if (name !== 'finish') return method.bind(target);
        return (...args: Parameters<JobEngine['finish']>) => {
          if (args[1].state !== 'succeeded') return target.finish(...args);
          const details = { reason: 'too_large' };
          return Promise.reject(new FabricError('UPSTREAM_ERROR', 'too large', { details }));
        };
      },
    });
    start(echo, { engine: refusing });
    const job = await ended(await submit());
    expect(job).toMatchObject({ state: 'failed', error: { details: { reason: 'too_large' } } });
    expect(await typesOf(job.id)).toEqual(['error']);
  });

  it('deletes old jobs', async () => {
    start(echo);
    const id = await submit();
    await ended(id);
    expect(await engine.prune({ before: Date.now() + 1_000, limit: 10 })).toBe(1);
    expect(await engine.get(id)).toBeUndefined();
  });
});

describe('job desk', () => {
  it('has one answer for unknown, foreign and malformed ids', async () => {
    const engine = createMemoryJobEngine();
    const desk = new JobDesk(engine);
    const { job } = await desk.submit(exampleJob());
    const { signal } = new AbortController();
    const errors: unknown[] = [];
    for (const id of [
      job.id,
      crypto.randomUUID(),
      'x',
      '',
      null,
      7,
      '../../etc',
      'a'.repeat(1e6),
    ]) {
      for (const use of [
        () => desk.status('mallory', id),
        () => desk.cancel('mallory', id),
        () => desk.retry('mallory', id, 0),
        () => desk.input('mallory', id, []),
        () => desk.events('mallory', id, { after: 0, limit: 1 }),
        () => desk.stream('mallory', id, { after: 0, signal }).next(),
      ]) {
        await use().catch((error: FabricError) => errors.push(`${error.code} ${error.message}`));
      }
    }
    expect(errors).toHaveLength(48);
    expect(new Set(errors).size).toBe(1);
    expect(errors[0]).toContain('JOB_NOT_FOUND');
  });

  it('refuses to cancel what is over, and to retry what is not', async () => {
    const engine = createMemoryJobEngine();
    const desk = new JobDesk(engine);
    const { job } = await desk.submit(exampleJob({ call: { n: 1 } }));
    await expect(desk.retry('alice', job.id, 0)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'job_not_finished' },
    });
    const runner = new JobRunner({ engine, run: async () => done('ok') });
    runner.start();
    const over = await desk.result('alice', job.id, AbortSignal.timeout(10_000));
    expect(over).toMatchObject({ state: 'succeeded' });
    await expect(desk.cancel('alice', job.id)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'job_finished' },
    });
    const again = await desk.retry('alice', job.id, Date.now());
    expect(again).toMatchObject({ state: 'queued', retry_of: job.id });
    expect(await engine.callOf(again.id)).toEqual({ n: 1 });
    await runner.stop();
  });

  it('streams from a cursor, then live, to the end', async () => {
    const engine = createMemoryJobEngine();
    const desk = new JobDesk(engine);
    const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
    const run: RunJob = async (_, { emit }) => {
      for (const [index, gate] of gates.entries()) {
        await gate.promise;
        await emit({ type: 'token', data: { text: String(index) } }, 'subject');
      }
      return done('ok');
    };
    const runner = new JobRunner({ engine, run });
    runner.start();
    const { job } = await desk.submit(exampleJob());
    gates[0]?.resolve();
    await expect.poll(async () => (await engine.get(job.id))?.cursor).toBe(1);
    const signal = AbortSignal.timeout(10_000);
    const follow = desk.stream('alice', job.id, { after: 0, signal });
    expect(await follow.next()).toMatchObject({ value: { cursor: 1, event: { seq: 1 } } });
    const next = follow.next();
    gates[1]?.resolve();
    expect(await next).toMatchObject({ value: { cursor: 2, event: { seq: 2 } } });
    gates[2]?.resolve();
    const rest = await Array.fromAsync(follow);
    expect(rest.map(({ cursor, event }) => [cursor, event.type])).toEqual([
      [3, 'token'],
      [4, 'final'],
    ]);
    const future = desk.stream('alice', job.id, { after: 5, signal });
    await expect(future.next()).rejects.toMatchObject({ code: 'BAD_INPUT' });
    await runner.stop();
  });
});
