import {
  type Claim,
  createTrace,
  type EventBody,
  type Job,
  type JobEngine,
  type JobEvent,
  type JobOutcome,
  type NewJob,
} from '@starloom/core';
import { expect } from 'vitest';
import { errorEvent } from '../../src/transitions.ts';

export const LEASE_MS = 10_000;
/** Until another worker has a job at the latest: the lease, and the backoff of the queue. */
export const LONG_AGO = LEASE_MS + 8_000;

/** Short forms of what tests of an engine do all the time. */
export interface JobDriver {
  create(change?: Partial<NewJob>): Promise<Job>;
  claimOne(): Promise<Claim>;
  /** Stamped so that they continue the stream. */
  stamp(job: Job, ...bodies: readonly EventBody[]): readonly JobEvent[];
  /** As it is now. */
  read(id: string): Promise<Job>;
  succeed(claim: Claim, answer?: string): Promise<boolean>;
  fail(claim: Claim): Promise<boolean>;
  token(text: string): EventBody;
}

export const FAILURE: JobOutcome & { state: 'failed' } = {
  state: 'failed',
  error: { code: 'UPSTREAM_ERROR', message: 'It broke', details: {} },
};

export function createJobDriver(engine: JobEngine, now: () => number): JobDriver {
  const read = async (id: string) => (await engine.get(id)) ?? expect.fail(`no job ${id}`);
  const stamp = (job: Job, ...bodies: readonly EventBody[]) =>
    bodies.map(
      (body, index) =>
        ({
          ...body,
          seq: job.seq + 1 + index,
          at: new Date(now()).toISOString(),
          trace: job.trace,
          agent_id: 'subject',
        }) as JobEvent,
    );
  return {
    read,
    stamp,
    token: (text) => ({ type: 'token', data: { text } }),
    async create(change = {}) {
      const { job } = await engine.create(exampleJob(change));
      return job;
    },
    async claimOne() {
      const [claim] = await engine.claim({ leaseMs: LEASE_MS, limit: 1 });
      return claim ?? expect.fail('nothing to claim');
    },
    async succeed(claim, answer = 'ok') {
      const events = stamp(await read(claim.job.id), { type: 'final', data: { answer } });
      return engine.finish(claim, { state: 'succeeded', result: { answer } }, events);
    },
    async fail(claim) {
      const event = errorEvent(await read(claim.job.id), FAILURE.error, now());
      return engine.finish(claim, FAILURE, [event]);
    },
  };
}

export function exampleJob(change: Partial<NewJob> = {}): NewJob {
  return {
    principalId: 'alice',
    capability: 'work',
    agentId: 'subject',
    trace: createTrace(),
    call: { task: 'echo' },
    timeoutMs: 60_000,
    ...change,
  };
}
