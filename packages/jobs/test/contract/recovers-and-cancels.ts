import type { NewJob } from '@starloom/core';
import { expect, it } from 'vitest';
import { errorEvent } from '../../src/transitions.ts';
import { exampleJob, LEASE_MS, LONG_AGO } from './job-driver.ts';
import type { JobContractContext } from './job-engine-contract.ts';

export function recoversAndCancels(context: JobContractContext): void {
  it('refuses more jobs of a principal than it may have, until some are over', async () => {
    const { engine, driver } = context;
    const quota = { jobs: 2, bytes: 100_000 };
    const [first] = [await driver.create({ quota }), await driver.create({ quota })];
    const over = { code: 'RATE_LIMITED', details: { reason: 'jobs_quota', limit: 2 } };
    await expect(engine.create(exampleJob({ quota }))).rejects.toMatchObject(over);
    await driver.create({ quota, principalId: 'another' });
    await engine.requestCancel(first.id);
    await driver.create({ quota });
    await expect(engine.create(exampleJob({ quota }))).rejects.toMatchObject(over);
  });

  it('refuses more bytes of a principal than it may have; a cancelled job gives its own back', async () => {
    const { engine, driver } = context;
    const quota = { jobs: 100, bytes: 100_000 };
    const large = { quota, call: { text: 'ü'.repeat(30_000) } };
    const queued = await driver.create(large);
    const over = { code: 'RATE_LIMITED', details: { reason: 'job_bytes_quota', limit: 100_000 } };
    await expect(engine.create(exampleJob(large))).rejects.toMatchObject(over);
    await engine.requestCancel(queued.id);
    expect(await engine.callOf(queued.id)).toBeNull();
    const { id } = await driver.create(large);
    const claim = await driver.claimOne();
    await engine.requestCancel(id);
    const error = { code: 'CANCELLED', message: 'cancelled', details: {} } as const;
    const event = errorEvent(claim.job, error, context.now());
    expect(await engine.finish(claim, { state: 'cancelled', error }, [event])).toBe(true);
    await driver.create(large);
  });

  it('keeps a small call of a cancelled job, for a retry', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create({ call: { task: 'echo' } });
    await engine.requestCancel(id);
    expect(await engine.callOf(id)).toEqual({ task: 'echo' });
  });

  const claimAfterCrash = async (
    change: Partial<NewJob>,
    before: { sent?: boolean; handle?: boolean },
  ) => {
    const { engine, driver, advance } = context;
    await driver.create(change);
    const claim = await driver.claimOne();
    if (before.sent) await engine.markSent(claim);
    if (before.handle) await engine.keepHandle(claim, { run: 'r-1' });
    await advance(LONG_AGO);
    return driver.claimOne();
  };

  it('repeats a call that was never sent', async () => {
    const claim = await claimAfterCrash({}, {});
    expect(claim).toMatchObject({ mode: 'start', job: { attempt: 2, state: 'running' } });
  });

  it('does not repeat a call that may have been sent, and counts no attempt', async () => {
    const { driver } = context;
    const claim = await claimAfterCrash({}, { sent: true });
    expect(claim).toMatchObject({ mode: 'interrupted', job: { attempt: 1 } });
    expect(await driver.fail(claim)).toBe(true);
    expect(await driver.read(claim.job.id)).toMatchObject({ state: 'failed', attempt: 1 });
  });

  it('repeats a call that is idempotent', async () => {
    const claim = await claimAfterCrash({ idempotent: true }, { sent: true });
    expect(claim).toMatchObject({ mode: 'repeat', job: { attempt: 2, sent: false } });
  });

  it('rejoins an upstream task, idempotent or not, and counts no attempt', async () => {
    const claim = await claimAfterCrash({ idempotent: true }, { sent: true, handle: true });
    const expected = { mode: 'rejoin', job: { attempt: 1, handle: { run: 'r-1' }, sent: true } };
    expect(claim).toMatchObject(expected);
  });

  it('says when the deadline of a job has passed', async () => {
    const { driver, now, advance } = context;
    await driver.create({ deadlineAt: now() + 5_000 });
    await advance(6_000);
    expect(await driver.claimOne()).toMatchObject({ mode: 'late', job: { attempt: 0 } });
  });

  it('cancels a queued job at once', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create();
    const job = await engine.requestCancel(id);
    expect(job).toMatchObject({ state: 'cancelled', error: { code: 'CANCELLED' }, cursor: 1 });
    const { events } = await engine.events(id, { after: 0, limit: 9 });
    expect(events).toMatchObject([{ type: 'error', seq: 1, error: { code: 'CANCELLED' } }]);
    expect(await engine.claim({ leaseMs: LEASE_MS, limit: 1 })).toEqual([]);
  });

  it('cancels a running job through its worker', async () => {
    const { engine, driver, now } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    const requested = await engine.requestCancel(id);
    expect(requested).toMatchObject({ state: 'running', cancel: { requested_at: now() } });
    expect(await engine.renew([claim], LEASE_MS)).toEqual([{ held: true, cancelRequested: true }]);
    expect(await engine.markCancelDelivered(claim)).toBe(true);
    expect((await driver.read(id)).cancel?.delivered_at).toBe(now());
    expect(await driver.fail(claim)).toBe(true);
  });

  it('gives a cancelled job to another worker when its own is gone', async () => {
    const { engine, driver, advance } = context;
    const { id } = await driver.create({ idempotent: true });
    await driver.claimOne();
    await engine.requestCancel(id);
    await advance(LONG_AGO);
    expect(await driver.claimOne()).toMatchObject({ mode: 'cancel', job: { id, attempt: 1 } });
  });

  it('delivers the cancellation of a job whose question an agent keeps', async () => {
    const { engine, driver, now } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    const asked = { inputs: [{ id: 'q' }], expiresAt: now() + 60_000, handle: { task: 't' } };
    await engine.ask(claim, asked, []);
    expect(await engine.requestCancel(id)).toMatchObject({ state: 'awaiting_input' });
    expect(await driver.claimOne()).toMatchObject({ mode: 'cancel', job: { id } });
  });

  it('leaves a finished job as it is when it is cancelled', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create();
    await driver.succeed(await driver.claimOne());
    const job = await engine.get(id);
    expect(await engine.requestCancel(id)).toEqual(job);
    expect(await engine.get(id)).toEqual(job);
  });
}
