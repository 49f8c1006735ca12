import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ManualClock } from '@starloom/core/testing';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { openSqliteJobs } from '../src/index.ts';
import { toEngineError } from '../src/sqlite/ledger-file.ts';
import { createJobDriver, exampleJob } from './contract/job-driver.ts';
import { jobEngineContract } from './contract/job-engine-contract.ts';

jobEngineContract('sqlite', async () => {
  const folder = await temporaryFolder();
  const clock = new ManualClock();
  const path = join(folder.path, 'jobs.sqlite');
  return {
    engine: await openSqliteJobs({ path, clock }),
    now: () => clock.now(),
    advance: async (ms) => clock.advance(ms),
    close: async () => folder[Symbol.asyncDispose](),
  };
});

describe('sqlite jobs', () => {
  it('has everything after it was closed and opened again', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'jobs.sqlite');
    const first = await openSqliteJobs({ path });
    const driver = createJobDriver(first, Date.now);
    const running = await driver.create({ call: { n: 1 } });
    const claim = await driver.claimOne();
    await first.append(claim, driver.stamp(claim.job, driver.token('a')));
    await first.markSent(claim);
    const queued = await driver.create();
    await first.close();
    const second = await openSqliteJobs({ path });
    expect(await second.get(running.id)).toMatchObject({ state: 'running', sent: true, cursor: 1 });
    expect(await second.callOf(running.id)).toEqual({ n: 1 });
    expect(await second.get(queued.id)).toMatchObject({ state: 'queued' });
    expect((await second.events(running.id, { after: 0, limit: 9 })).events).toHaveLength(1);
    await second.close();
  });

  it('is held by one gateway at a time', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'jobs.sqlite');
    const engine = await openSqliteJobs({ path });
    await expect(openSqliteJobs({ path })).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { reason: 'in_use' },
    });
    await engine.close();
  });

  it('keeps large calls, events and results as files, and deletes them with their job', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'jobs.sqlite');
    const engine = await openSqliteJobs({ path, inlineBytes: 1000 });
    const driver = createJobDriver(engine, Date.now);
    const large = 'ü'.repeat(2_000);
    const { id } = await driver.create({ call: { large } });
    const claim = await driver.claimOne();
    expect(claim.call).toEqual({ large });
    await engine.append(claim, driver.stamp(claim.job, driver.token(large)));
    expect(await driver.succeed(claim, large)).toBe(true);
    const files = async () => {
      const all = await readdir(join(folder.path, 'documents'), { recursive: true });
      return all.filter((name) => name.length > 64);
    };
    expect(await files()).toHaveLength(4);
    for (const name of await readdir(folder.path, { recursive: true })) {
      expect((await stat(join(folder.path, name))).mode & 0o077).toBe(0);
    }
    expect(await engine.get(id)).toMatchObject({ result: { answer: large } });
    const { events } = await engine.events(id, { after: 0, limit: 9 });
    expect(events).toMatchObject([{ data: { text: large } }, { data: { answer: large } }]);
    expect(await engine.prune({ before: Date.now() + 1000, limit: 9 })).toBe(1);
    expect(await files()).toHaveLength(0);
    await engine.close();
  });

  it('deletes the file of a large call when its job is cancelled or refused', async () => {
    await using folder = await temporaryFolder();
    const engine = await openSqliteJobs({
      path: join(folder.path, 'jobs.sqlite'),
      inlineBytes: 1000,
    });
    const driver = createJobDriver(engine, Date.now);
    const quota = { jobs: 9, bytes: 10_000 };
    const large = { quota, call: { large: 'x'.repeat(5_000) } };
    const files = async () => {
      const all = await readdir(join(folder.path, 'documents'), { recursive: true });
      return all.filter((name) => name.length > 64).length;
    };
    const { id } = await driver.create(large);
    await expect(engine.create(exampleJob(large))).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(await files()).toBe(1);
    await engine.requestCancel(id);
    expect(await files()).toBe(0);
    await driver.create(large);
    await engine.close();
  });

  it('counts what a principal has stored, finished jobs too, until they are deleted', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'jobs.sqlite');
    const first = await openSqliteJobs({ path });
    const driver = createJobDriver(first, Date.now);
    const large = { quota: { jobs: 9, bytes: 20_000 }, call: { large: 'x'.repeat(8_000) } };
    await driver.create(large);
    await driver.succeed(await driver.claimOne(), 'y'.repeat(8_000));
    const over = { code: 'RATE_LIMITED', details: { reason: 'job_bytes_quota' } };
    await expect(first.create(exampleJob(large))).rejects.toMatchObject(over);
    await first.close();
    const database = new DatabaseSync(path);
    database.exec('DROP TABLE usage');
    database.close();
    const second = await openSqliteJobs({ path });
    await expect(second.create(exampleJob(large))).rejects.toMatchObject(over);
    expect(await second.prune({ before: Date.now() + 1_000, limit: 9 })).toBe(1);
    await second.create(exampleJob(large));
    await second.close();
  });

  it('refuses a result that is too large, and keeps the job', async () => {
    await using folder = await temporaryFolder();
    const engine = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
    const driver = createJobDriver(engine, Date.now);
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    await expect(driver.succeed(claim, 'x'.repeat(65 * 1024 * 1024))).rejects.toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'too_large' },
    });
    expect(await engine.get(id)).toMatchObject({ state: 'running', cursor: 0 });
    expect(await driver.fail(claim)).toBe(true);
    await engine.close();
  });

  it('answers thousands of concurrent requests in order of their effects', async () => {
    await using folder = await temporaryFolder();
    const engine = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
    const made = await Promise.all(
      Array.from({ length: 3_000 }, (_, n) => engine.create(exampleJob({ call: { n } }))),
    );
    expect(new Set(made.map(({ job }) => job.id)).size).toBe(3_000);
    const claims = await engine.claim({ leaseMs: 1_000, limit: 3_000 });
    expect(claims.map(({ call }) => (call as { n: number }).n)).toEqual(
      Array.from({ length: 3_000 }, (_, n) => n),
    );
    expect((await engine.counts()).states).toMatchObject({ queued: 0, running: 3_000 });
    await engine.close();
  });

  it.each([
    ['a full disk', 13, 'disk_full'],
    ['no room for the index of the log', 4874, 'disk_full'],
    ['a read-only file system', 778, 'io_error'],
    ['a folder that cannot be written', 1544, 'read_only'],
    ['a file that cannot be opened', 14, 'unreachable'],
  ])('promises that no restart is needed on a full disk alone: %s', (_, errcode, reason) => {
    const { details } = toEngineError(Object.assign(new Error('disk I/O error'), { errcode }));
    expect(details.reason).toBe(reason);
    expect(/no restart/.test(String(details.fix))).toBe(reason === 'disk_full');
  });

  it('refuses a schedule that is none', async () => {
    await using folder = await temporaryFolder();
    const engine = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
    const schedule = { name: 'x', cron: 'every day', job: exampleJob() };
    await expect(engine.schedule(schedule)).rejects.toMatchObject({ code: 'BAD_INPUT' });
    await engine.close();
  });
});
