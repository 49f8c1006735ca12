// What every job store must do.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventStamper } from '../events.ts';
import type { Claim, JobOutcome, JobStore } from '../ports/jobs.ts';
import { exampleEnvelope } from './examples.ts';

export interface JobStoreSubject {
  /** Empty at first. */
  readonly store: JobStore;
  /** Lets this much of the store's time pass. */
  advance(ms: number): Promise<void>;
  /** Frees what the test made; the contract closes the store itself. */
  close(): Promise<void>;
}

export function jobStoreContract(name: string, open: () => Promise<JobStoreSubject>): void {
  describe(`job store contract: ${name}`, () => {
    let subject: JobStoreSubject;
    let store: JobStore;
    beforeEach(async () => {
      subject = await open();
      store = subject.store;
    });
    afterEach(async () => {
      await store.close();
      await subject.close();
    });

    const create = (task = 'echo', idempotencyKey?: string) =>
      store.create({
        envelope: exampleEnvelope(task),
        principalId: 'alice',
        ...(idempotencyKey && { idempotencyKey }),
      });
    const claimOne = async (): Promise<Claim> => {
      const [claim] = await store.claim({ leaseMs: 1000, limit: 1 });
      return claim ?? expect.fail('nothing to claim');
    };
    const success: JobOutcome = { state: 'succeeded', result: { answer: 'ok' }, attempts: [] };

    it('keeps a job with its envelope', async () => {
      const { job, created } = await create('echo hi');
      expect(created).toBe(true);
      expect(job).toMatchObject({ state: 'queued', attempt: 0, cancel_requested: false });
      expect((await store.get(job.id))?.envelope.input.task).toBe('echo hi');
      expect(await store.get('00000000-0000-4000-8000-000000000000')).toBeUndefined();
    });

    it('gives the same job for the same key of the same principal', async () => {
      const first = await create('echo', 'once');
      const second = await create('echo', 'once');
      expect(second).toMatchObject({ created: false, job: { id: first.job.id } });
      const other = await store.create({
        envelope: exampleEnvelope('echo'),
        principalId: 'bob',
        idempotencyKey: 'once',
      });
      expect(other.created).toBe(true);
    });

    it('lists the jobs of one principal, newest first', async () => {
      const first = await create();
      const second = await create();
      await store.create({ envelope: exampleEnvelope('echo'), principalId: 'bob' });
      const list = await store.list({ principalId: 'alice' });
      expect(list.map(({ id }) => id)).toEqual([second.job.id, first.job.id]);
      expect(await store.list({ principalId: 'alice', limit: 1 })).toHaveLength(1);
      expect(await store.list({ principalId: 'alice', state: 'running' })).toEqual([]);
    });

    it('gives each job to one worker, oldest first', async () => {
      const jobs = [await create(), await create(), await create()];
      const claims = await Promise.all([
        store.claim({ leaseMs: 1000, limit: 2 }),
        store.claim({ leaseMs: 1000, limit: 2 }),
      ]);
      const ids = claims.flat().map(({ job }) => job.id);
      expect(new Set(ids)).toEqual(new Set(jobs.map(({ job }) => job.id)));
      expect(ids).toHaveLength(3);
      expect(await store.claim({ leaseMs: 1000, limit: 1 })).toEqual([]);
      expect(await store.get(ids[0] ?? '')).toMatchObject({ state: 'running', attempt: 1 });
    });

    it('keeps events in order and reads on from a cursor', async () => {
      const { job } = await create();
      const claim = await claimOne();
      const stamper = new EventStamper(job.envelope.trace, () => 0);
      const events = ['a', 'b', 'c'].map((text) =>
        stamper.stamp({ type: 'token', data: { text } }, 'subject'),
      );
      expect(await store.append(claim, events.slice(0, 2))).toBe(true);
      expect(await store.append(claim, events.slice(2))).toBe(true);
      const first = await store.events(job.id, { after: 0, limit: 2 });
      expect(first.events).toEqual(events.slice(0, 2));
      const rest = await store.events(job.id, { after: first.cursor, limit: 10 });
      expect(rest.events).toEqual(events.slice(2));
      expect((await store.events(job.id, { after: rest.cursor, limit: 10 })).events).toEqual([]);
    });

    it('ends a job once', async () => {
      const { job } = await create();
      const claim = await claimOne();
      expect(await store.finish(claim, success)).toBe(true);
      expect(await store.finish(claim, success)).toBe(false);
      expect(await store.append(claim, [])).toBe(false);
      expect(await store.get(job.id)).toMatchObject({ state: 'succeeded', outcome: success });
      expect(await store.requestCancel(job.id)).toMatchObject({ state: 'succeeded' });
    });

    it('gives a job whose lease expired to another worker and refuses the first', async () => {
      await create();
      const lost = await claimOne();
      await subject.advance(1500);
      const claim = await claimOne();
      expect(claim.job).toMatchObject({ id: lost.job.id, attempt: 2 });
      expect(await store.renew(lost, 1000)).toBeUndefined();
      expect(await store.append(lost, [])).toBe(false);
      expect(await store.finish(lost, success)).toBe(false);
      expect(await store.finish(claim, success)).toBe(true);
    });

    it('keeps a renewed lease', async () => {
      await create();
      const claim = await claimOne();
      await subject.advance(700);
      expect(await store.renew(claim, 1000)).toEqual({ cancelRequested: false });
      await subject.advance(700);
      expect(await store.claim({ leaseMs: 1000, limit: 1 })).toEqual([]);
      expect(await store.finish(claim, success)).toBe(true);
    });

    it('cancels a queued job at once and a running one through its worker', async () => {
      const queued = await create();
      expect(await store.requestCancel(queued.job.id)).toMatchObject({ state: 'cancelled' });
      expect(await store.claim({ leaseMs: 1000, limit: 1 })).toEqual([]);
      const running = await create();
      const claim = await claimOne();
      await store.requestCancel(running.job.id);
      expect(await store.renew(claim, 1000)).toEqual({ cancelRequested: true });
      expect(await store.requestCancel('00000000-0000-4000-8000-000000000000')).toBeUndefined();
    });
  });
}
