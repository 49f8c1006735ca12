import { ManualClock } from '@starloom/core/testing';
import { describeWithEngine, emptyDatabase, temporaryFolder } from '@starloom/testkit';
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { openPostgresJobs } from '../src/index.ts';
import { createJobDriver, exampleJob } from './contract/job-driver.ts';
import { jobEngineContract } from './contract/job-engine-contract.ts';

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

  it('refuses a database of an earlier or a newer format, and changes nothing of it', async () => {
    await using folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const openIt = () => openPostgresJobs({ url, documents: folder.path });
    await using client = await connect(url);
    await client.query(`CREATE SCHEMA starloom_jobs;
      CREATE TABLE starloom_jobs.format (version integer PRIMARY KEY);
      INSERT INTO starloom_jobs.format VALUES (1)`);
    await expect(openIt()).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { reason: 'older_store', fix: expect.stringContaining('another database') },
    });
    const tables = `SELECT table_name FROM information_schema.tables
      WHERE table_schema = 'starloom_jobs'`;
    expect((await client.query(tables)).rows).toEqual([{ table_name: 'format' }]);
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

async function connect(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
