import type { Claim } from '@starloom/core';
import { expect, it } from 'vitest';
import { exampleJob, LEASE_MS, LONG_AGO } from './job-driver.ts';
import type { JobContractContext } from './job-engine-contract.ts';

export function claimsAndLeases(context: JobContractContext): void {
  const claimAll = (limit = 10, perAgent?: number) =>
    context.engine.claim({ leaseMs: LEASE_MS, limit, ...(perAgent !== undefined && { perAgent }) });

  it('gives each job to one worker', async () => {
    const { driver } = context;
    const jobs = [await driver.create(), await driver.create(), await driver.create()];
    const claims = (await Promise.all([claimAll(2), claimAll(2)])).flat();
    const more = await claimAll();
    const ids = [...claims, ...more].map(({ job }) => job.id);
    expect(new Set(ids)).toEqual(new Set(jobs.map(({ id }) => id)));
    expect(ids).toHaveLength(3);
    expect(await claimAll()).toEqual([]);
    expect(claims[0]).toMatchObject({ mode: 'start', call: { task: 'echo' }, tries: 1 });
    expect(await driver.read(ids[0] ?? '')).toMatchObject({ state: 'running', attempt: 1 });
  });

  it('gives higher priorities first, then older jobs', async () => {
    const { driver } = context;
    const order: string[] = [];
    for (const priority of [0, 5, 0, -5, 5]) order.push((await driver.create({ priority })).id);
    const claimed: string[] = [];
    for (let left = 5; left > 0; left -= 1) claimed.push((await driver.claimOne()).job.id);
    expect(claimed).toEqual([1, 4, 0, 2, 3].map((index) => order[index]));
  });

  it('gives a job no earlier than its time', async () => {
    const { driver, now, advance } = context;
    const later = await driver.create({ runAt: now() + 60_000, priority: 9 });
    const soon = await driver.create();
    expect((await claimAll()).map(({ job }) => job.id)).toEqual([soon.id]);
    await advance(30_000);
    expect(await claimAll()).toMatchObject([{ job: { id: soon.id } }]);
    await advance(31_000);
    expect((await claimAll()).map(({ job }) => job.id)).toContain(later.id);
  });

  it('runs no more jobs of one agent at once than it may', async () => {
    const { engine, driver } = context;
    for (let left = 3; left > 0; left -= 1) await driver.create({ agentId: 'busy' });
    const idle = await driver.create({ agentId: 'idle' });
    const first = await claimAll(10, 2);
    const agents = first.map(({ job }) => job.agent_id);
    expect(agents.sort()).toEqual(['busy', 'busy', 'idle']);
    expect(await claimAll(10, 2)).toEqual([]);
    const done = first.find(({ job }) => job.agent_id === 'busy') ?? expect.fail('none');
    await driver.succeed(done);
    expect(await claimAll(10, 2)).toHaveLength(1);
    expect(await engine.get(idle.id)).toMatchObject({ state: 'running' });
  });

  it('gives a job whose lease expired to another worker and refuses the first', async () => {
    const { engine, driver, advance } = context;
    await driver.create();
    const lost = await driver.claimOne();
    await advance(LONG_AGO);
    const claim = await driver.claimOne();
    expect(claim).toMatchObject({ job: { id: lost.job.id, attempt: 2 }, mode: 'start' });
    const event = driver.stamp(lost.job, driver.token('late'));
    expect(await engine.append(lost, event)).toBe(false);
    expect(await engine.markSent(lost)).toBe(false);
    expect(await engine.keepHandle(lost, { id: 1 })).toBe(false);
    expect(await engine.retry(lost, [])).toBe(false);
    expect(await engine.release(lost)).toBe(false);
    expect(await driver.succeed(lost)).toBe(false);
    expect(await engine.renew([lost, claim], LEASE_MS)).toEqual([
      { held: false, cancelRequested: false },
      { held: true, cancelRequested: false },
    ]);
    expect(await driver.succeed(claim)).toBe(true);
    expect(await driver.read(claim.job.id)).toMatchObject({ state: 'succeeded', cursor: 1 });
  });

  it('keeps a lease that is renewed', async () => {
    const { engine, driver, advance } = context;
    await driver.create();
    const claim = await driver.claimOne();
    for (let left = 3; left > 0; left -= 1) {
      await advance(LEASE_MS * 0.7);
      expect(await engine.renew([claim], LEASE_MS)).toEqual([
        { held: true, cancelRequested: false },
      ]);
      expect(await claimAll()).toEqual([]);
    }
    expect(await driver.succeed(claim)).toBe(true);
  });

  it('retries after a backoff', async () => {
    const { engine, driver, advance } = context;
    const retry = { attempts: 3, backoff_ms: 10_000, max_backoff_ms: 60_000 };
    const { id } = await driver.create({ idempotent: true, retry });
    const claim = await driver.claimOne();
    await engine.markSent(claim);
    const again = driver.stamp(claim.job, { type: 'status', data: { state: 'retrying' } });
    expect(await engine.retry(claim, again)).toBe(true);
    expect(await driver.read(id)).toMatchObject({ state: 'queued', sent: false, attempt: 1 });
    expect(await claimAll()).toEqual([]);
    await advance(8_000);
    expect(await claimAll()).toEqual([]);
    await advance(14_000);
    const [second] = await claimAll();
    expect(second).toMatchObject({ mode: 'start', job: { id, attempt: 2, seq: 1, cursor: 1 } });
    expect(await driver.succeed(claim)).toBe(false);
  });

  it('gives back a job that was not begun', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    expect(await engine.release(claim)).toBe(true);
    expect(await driver.read(id)).toMatchObject({ state: 'queued', attempt: 0 });
    expect(await driver.claimOne()).toMatchObject({ job: { id, attempt: 1 }, mode: 'start' });
    expect(await driver.succeed(claim)).toBe(false);
  });

  it('hints that something is ready', async () => {
    const { engine, driver } = context;
    let hints = 0;
    const stop = engine.onReady(() => {
      hints += 1;
    });
    await driver.create();
    await expect.poll(() => hints).toBeGreaterThan(0);
    stop();
  });

  it('creates a job at each time of a schedule', async () => {
    const { engine, advance } = context;
    const job = exampleJob({ call: { task: 'nightly' } });
    await engine.schedule({
      name: 'nightly',
      cron: '* * * * *',
      job: { ...job, deadlineMs: 1_000 },
    });
    expect(await engine.schedules()).toEqual([
      { name: 'nightly', cron: '* * * * *', timezone: 'UTC' },
    ]);
    expect(await claimAll()).toEqual([]);
    const claims: unknown[] = [];
    for (let left = 3; left > 0 && claims.length === 0; left -= 1) {
      await advance(61_000);
      claims.push(...(await claimAll()));
    }
    // An engine may count the minute in which the schedule was made.
    expect(claims.length).toBeLessThanOrEqual(2);
    expect(claims[0]).toMatchObject({
      call: { task: 'nightly' },
      job: { principal_id: 'alice', deadline_at: expect.any(Number) },
    });
    const [first] = claims as Claim[];
    expect(first?.job.trace).not.toEqual(job.trace);
    await engine.unschedule('nightly');
    expect(await engine.schedules()).toEqual([]);
  });
}
