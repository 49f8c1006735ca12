import { describeWithEngine, temporaryFolder } from '@starloom/testkit';
import { TestClock } from 'pg-boss';
import { expect, it } from 'vitest';
import { openPostgresJobs } from '../src/index.ts';
import { createJobDriver, exampleJob, jobEngineContract } from '../src/testing/index.ts';
import { emptyDatabase } from './empty-database.ts';

const STEP_MS = 1_000;

describeWithEngine('postgres', (postgres) => {
  jobEngineContract('postgres', async () => {
    const folder = await temporaryFolder();
    const url = await emptyDatabase(postgres().url);
    const time = new TestClock(Date.UTC(2026, 0, 1));
    const clock = Object.assign(time, { monotonic: () => time.now() });
    const engine = await openPostgresJobs({ url, documents: folder.path, leaseMs: 10_000, clock });
    return {
      engine,
      now: () => time.now(),
      async advance(ms) {
        const target = time.now() + ms;
        // Long waits need no supervision in between.
        if (ms > 600_000) await time.setTime(target - 60 * STEP_MS);
        while (time.now() < target) await time.tick(Math.min(STEP_MS, target - time.now()));
      },
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
      return claims.length;
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
  return openPostgresJobs({ url, documents, leaseMs: 5_000 });
}
