import type { NewJob } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { describeWithEngine, emptyDatabase, temporaryFolder } from '@starloom/testkit';
import { expect, it, vi } from 'vitest';
import { createJob, openPostgresJobs } from '../src/index.ts';
import { createJobDriver, exampleJob } from './contract/job-driver.ts';
import { jobEngineContract } from './contract/job-engine-contract.ts';
import { connect, writeFormat1 } from './format-1.ts';

describeWithEngine('postgres', (postgres) => {
  jobEngineContract('postgres', async () => {
    const folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    return {
      engine: await openPostgresJobs({ url, documents: folder.path, clock }),
      now: () => clock.now(),
      advance: async (ms) => clock.advance(ms),
      close: async () => folder[Symbol.asyncDispose](),
    };
  });

  it('makes up once for the times of a schedule at which no gateway ran', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const schedule = { name: 'hourly', cron: '0 * * * *', job: exampleJob() };
    const at = async (now: number, ...schedules: (typeof schedule)[]) => {
      const clock = { now: () => now, monotonic: () => now };
      const engine = await openPostgresJobs({ url, documents: folder.path, clock });
      for (const one of schedules) await engine.schedule(one);
      const claims = await engine.claim({ limit: 10, leaseMs: 10_000 });
      await engine.close();
      // Not those of earlier times, whose leases have expired by now.
      return claims.filter(({ job }) => job.attempt === 1).length;
    };
    const hour = 3_600_000;
    const start = Date.now() - 24 * hour;
    expect(await at(start, schedule)).toBe(0);
    expect(await at(start + 5 * hour, schedule, schedule)).toBe(1);
    expect(await at(start + 5 * hour + 1_000, schedule)).toBe(0);
    expect(await at(start + 9 * hour, { ...schedule, cron: '30 * * * *' })).toBe(0);
  });

  it('shows every gateway what another one does, as it happens', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const [one, two] = await Promise.all([open(url, folder.path), open(url, folder.path)]);
    const driver = createJobDriver(one, Date.now);
    const { id } = await driver.create();
    let hints = 0;
    let ready = 0;
    two.watch(id, () => {
      hints += 1;
    });
    two.onReady(() => {
      ready += 1;
    });
    const claim = await driver.claimOne();
    await one.append(claim, driver.stamp(claim.job, driver.token('a')));
    await expect.poll(() => hints).toBeGreaterThan(0);
    expect((await two.events(id, { after: 0, limit: 9 })).events).toHaveLength(1);
    await driver.create();
    await expect.poll(() => ready).toBeGreaterThan(0);
    await two.requestCancel(id);
    expect(await one.renew([claim], 1_000)).toEqual([{ held: true, cancelRequested: true }]);
    await one.close();
    await two.close();
  });

  it('gives no job to two gateways that claim at once', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const engines = await Promise.all([open(url, folder.path), open(url, folder.path)]);
    const jobs = Array.from({ length: 200 }, () => engines[0].create(exampleJob()));
    await Promise.all(jobs);
    const claimed: string[] = [];
    const work = async (engine: (typeof engines)[number]) => {
      for (;;) {
        const claims = await engine.claim({ leaseMs: 10_000, limit: 7 });
        if (claims.length === 0) return;
        claimed.push(...claims.map(({ job }) => job.id));
      }
    };
    await Promise.all([...engines, ...engines].map(work));
    expect(claimed).toHaveLength(200);
    expect(new Set(claimed).size).toBe(200);
    await Promise.all(engines.map((engine) => engine.close()));
  });

  it('takes over the jobs of format 1, with their places in the queue of pg-boss', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const at = Date.now();
    const make = (n: number, change: Partial<NewJob> = {}) =>
      createJob(exampleJob(change), `00000000-0000-4000-8000-00000000000${n}`, at);
    const queue = 'jobs' as const;
    const webhook = { url: 'https://example.com/hook' };
    const claimed = { ...make(3), state: 'running' as const, attempt: 1 };
    const ended = { state: 'succeeded' as const, finished_at: at, cursor: 1, seq: 1 };
    await writeFormat1(url, {
      jobs: [
        { job: claimed, call: { n: 3 }, place: { queue }, isClaimed: true },
        { job: make(1, { priority: -5 }), call: { n: 1 }, place: { queue } },
        { job: make(2, { priority: 5 }), call: { n: 2 }, place: { queue } },
        { job: make(4), call: { n: 4 }, place: { queue, startAfter: new Date(at + 600_000) } },
        { job: { ...make(5, { webhook }), ...ended }, call: 5, place: { queue: 'webhooks' } },
        { job: { ...make(6), ...ended, notes: { due: { at } } }, call: 6, events: [{ seq: 1 }] },
        // Its place is gone.
        { job: make(7, { priority: -9 }), call: { n: 7 } },
      ],
      schedules: [
        { name: 'hourly', cron: '0 * * * *', job: exampleJob(), firedAt: at - 7_200_000 },
      ],
    });
    const clock = new ManualClock(Date.now() + 1_000);
    const engine = await openPostgresJobs({ url, documents: folder.path, clock });
    const claim = () => engine.claim({ leaseMs: 3_600_000, limit: 10 });
    const ready = await claim();
    expect(ready.map(({ call }) => call)).toEqual([{ n: 2 }, { n: 1 }, { n: 7 }, { task: 'echo' }]);
    expect(ready.map(({ tries }) => tries)).toEqual([2, 2, 1, 1]);
    expect(await engine.claim({ purpose: 'webhook', leaseMs: 1_000, limit: 9 })).toMatchObject([
      { call: 5, tries: 2, job: { webhook, state: 'succeeded' } },
    ]);
    expect(await engine.listDue(9)).toMatchObject([{ notes: { due: { at } } }]);
    expect((await engine.events(make(6).id, { after: 0, limit: 9 })).events).toEqual([{ seq: 1 }]);
    await engine.unschedule('hourly');
    clock.advance(45_000);
    expect(await claim()).toMatchObject([{ call: { n: 3 }, mode: 'start', job: { attempt: 2 } }]);
    clock.advance(600_000);
    expect(await claim()).toMatchObject([{ call: { n: 4 }, mode: 'start' }]);
    const quota = { jobs: 6, bytes: 1_000 };
    await expect(engine.create(exampleJob({ quota }))).rejects.toMatchObject({
      details: { reason: 'jobs_quota' },
    });
    await engine.close();
    const again = await openPostgresJobs({ url, documents: folder.path, clock });
    expect((await again.counts()).states).toMatchObject({ running: 6, succeeded: 2 });
    await again.close();
    await using client = await connect(url);
    const schemas = `SELECT 1 FROM pg_namespace WHERE nspname = 'starloom_queue'`;
    expect((await client.query(schemas)).rows).toEqual([]);
  });

  it('refuses a database that gateways of format 1 use, and changes nothing of one it cannot take over', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const job = createJob(exampleJob(), '00000000-0000-4000-8000-000000000001', Date.now());
    const bad = { name: 'bad', cron: 'never', job: exampleJob(), firedAt: 0 };
    await writeFormat1(url, {
      jobs: [{ job, call: { n: 1 }, place: { queue: 'jobs' } }],
      schedules: [bad],
    });
    const openIt = () => openPostgresJobs({ url, documents: folder.path });
    const older = await connect(url, 'starloom-listen');
    await expect(openIt()).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { reason: 'older_gateways', fix: expect.stringContaining('Stop all gateways') },
    });
    await older.end();
    const refusal = () => openIt().catch(({ details }) => details.reason);
    await expect.poll(refusal).toBe('bad_schedule');
    await using client = await connect(url);
    const places =
      'SELECT entry FROM starloom_jobs.job JOIN starloom_queue.job q ON q.id::text = entry';
    expect((await client.query(places)).rows).toHaveLength(1);
    await client.query('DELETE FROM starloom_jobs.schedule');
    const engine = await openIt();
    expect(await engine.claim({ leaseMs: 1_000, limit: 9 })).toMatchObject([{ call: { n: 1 } }]);
    await engine.close();
    await client.query('INSERT INTO starloom_jobs.format VALUES (99)');
    await expect(openIt()).rejects.toMatchObject({ details: { reason: 'newer_store' } });
  });

  it('holds a quota over all gateways that create at once, and one call by its key is one job', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const engines = await Promise.all([open(url, folder.path), open(url, folder.path)]);
    const quota = { jobs: 10, bytes: 100_000 };
    const asked = Array.from({ length: 40 }, (_, n) =>
      engines[n % 2]?.create(exampleJob({ quota })).then(
        () => 'created',
        ({ details }) => details.reason,
      ),
    );
    const answers = await Promise.all(asked);
    expect(answers.filter((answer) => answer === 'created')).toHaveLength(10);
    expect(answers.filter((answer) => answer === 'jobs_quota')).toHaveLength(30);
    const keyed = exampleJob({ idempotencyKey: 'once', principalId: 'bob' });
    const made = await Promise.all([...engines, ...engines].map((engine) => engine.create(keyed)));
    expect(new Set(made.map(({ job }) => job.id)).size).toBe(1);
    expect(made.filter(({ created }) => created)).toHaveLength(1);
    await Promise.all(engines.map((engine) => engine.close()));
  });

  it('refuses a job that Postgres cannot store, and no other of its batch', async () => {
    await using folder = await temporaryFolder();
    const engine = await open(await emptyDatabase(postgres().url), folder.path);
    const runAt = [undefined, Number.NaN, undefined];
    const made = await Promise.allSettled(
      runAt.map((at) => engine.create(exampleJob(at === undefined ? {} : { runAt: at }))),
    );
    expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((await engine.counts()).states.queued).toBe(2);
    await engine.close();
  });

  it('goes by the time of the database, not by that of the gateway', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const engine = await open(url, folder.path);
    await using client = await connect(url);
    const read = async () =>
      Number((await client.query('SELECT extract(epoch FROM now()) * 1000 AS at')).rows[0]?.at);
    const wrong = vi.spyOn(Date, 'now').mockReturnValue(0);
    const before = await read();
    const { job } = await engine.create(exampleJob());
    wrong.mockRestore();
    const after = await read();
    // What it knows of that clock may be some seconds old.
    expect(job.created_at).toBeGreaterThan(before - 60_000);
    expect(job.created_at).toBeLessThan(after + 60_000);
    await engine.close();
  });

  it('runs no more jobs of one agent than it may, over gateways that claim at once', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const engines = await Promise.all([open(url, folder.path), open(url, folder.path)]);
    await Promise.all(Array.from({ length: 20 }, () => engines[0].create(exampleJob())));
    const options = { leaseMs: 10_000, limit: 3, perAgent: 5 };
    const claims = [...engines, ...engines, ...engines].map((engine) => engine.claim(options));
    expect((await Promise.all(claims)).flat()).toHaveLength(5);
    await Promise.all(engines.map((engine) => engine.close()));
  });

  it('keeps what it accepted over a kill of Postgres, and goes on by itself', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const engine = await open(url, folder.path);
    const driver = createJobDriver(engine, Date.now);
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    let hints = 0;
    engine.watch(id, () => {
      hints += 1;
    });
    await postgres().kill();
    await expect(engine.create(exampleJob())).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { reason: 'engine_unavailable' },
    });
    await postgres().restart();
    await expect
      .poll(() =>
        engine.check().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect(await engine.get(id)).toMatchObject({ state: 'running' });
    await expect.poll(() => hints).toBeGreaterThan(0);
    expect(await driver.succeed(claim)).toBe(true);
    await engine.close();
  });
});

function open(url: string, documents: string) {
  return openPostgresJobs({ url, documents });
}
