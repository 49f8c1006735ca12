import { expect, it } from 'vitest';
import { LEASE_MS, LONG_AGO } from './job-driver.ts';
import type { JobContractContext } from './job-engine-contract.ts';

const QUESTION = { id: 'q1', kind: 'text', message: 'Which one?' };
const ANSWER = { id: 'q1', response: { action: 'accept', content: 'the red one' } };
const HOUR = 60 * 60 * 1000;

export function asksAndAnswers(context: JobContractContext): void {
  const askWithHandle = async (inputs: readonly (typeof QUESTION)[] = [QUESTION]) => {
    const { engine, driver, now } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    await engine.markSent(claim);
    const asked = { inputs, expiresAt: now() + HOUR, handle: { task: 't-1' } };
    const status = { type: 'status', data: { state: 'awaiting_input' } } as const;
    const done = await engine.ask(claim, asked, driver.stamp(claim.job, status));
    expect(done).toBe(true);
    return { id, claim };
  };
  const nothing = async () => {
    expect(await context.engine.claim({ leaseMs: LEASE_MS, limit: 1 })).toEqual([]);
  };

  it('waits for an answer, and goes on where the agent keeps the question', async () => {
    const { engine, driver } = context;
    const { id, claim } = await askWithHandle();
    expect(await driver.read(id)).toMatchObject({ state: 'awaiting_input', inputs: [QUESTION] });
    expect(await driver.succeed(claim)).toBe(false);
    await nothing();
    const job = await engine.answer(id, [ANSWER]);
    expect(job).toMatchObject({ state: 'queued', seq: 0, cursor: 1 });
    expect(job?.inputs).toBeUndefined();
    const next = await driver.claimOne();
    expect(next).toMatchObject({
      mode: 'rejoin',
      job: { id, attempt: 1, state: 'running', handle: { task: 't-1' }, answers: [ANSWER] },
    });
    expect(await driver.succeed(next)).toBe(true);
    expect(await driver.read(id)).toMatchObject({ state: 'succeeded', cursor: 2, seq: 1 });
  });

  it('uses an answer once, also when the worker dies with it', async () => {
    const { engine, driver, advance } = context;
    const { id } = await askWithHandle();
    await engine.answer(id, [ANSWER]);
    const next = await driver.claimOne();
    await engine.markSent(next);
    await advance(LONG_AGO);
    const third = await driver.claimOne();
    expect(third).toMatchObject({ mode: 'rejoin', job: { id } });
    expect(third.job.answers).toBeUndefined();
  });

  it('refuses an answer that was not asked for, or comes twice', async () => {
    const { engine, driver } = context;
    const { id } = await askWithHandle();
    const refused = { code: 'BAD_INPUT', details: { reason: 'no_open_question' } };
    const wrong = [{ id: 'other', response: {} }];
    await expect(engine.answer(id, wrong)).rejects.toMatchObject(refused);
    await expect(engine.answer(id, [ANSWER, ...wrong])).rejects.toMatchObject(refused);
    await expect(engine.answer(id, [])).rejects.toMatchObject(refused);
    await engine.answer(id, [ANSWER]);
    await expect(engine.answer(id, [ANSWER])).rejects.toMatchObject(refused);
    const queued = await driver.create();
    await expect(engine.answer(queued.id, [ANSWER])).rejects.toMatchObject(refused);
  });

  it('goes on only when every question has its answer', async () => {
    const { engine } = context;
    const { id } = await askWithHandle([QUESTION, { ...QUESTION, id: 'q2' }]);
    expect(await engine.answer(id, [ANSWER])).toMatchObject({ state: 'awaiting_input' });
    await nothing();
    const job = await engine.answer(id, [{ ...ANSWER, id: 'q2' }]);
    expect(job).toMatchObject({ state: 'queued', answers: [ANSWER, { id: 'q2' }] });
  });

  it('hands a question that expired to a worker, which ends the job', async () => {
    const { driver, advance } = context;
    const { id } = await askWithHandle();
    await advance(HOUR + 1_000);
    const claim = await driver.claimOne();
    expect(claim).toMatchObject({ mode: 'unanswered', job: { id, state: 'awaiting_input' } });
    expect(await driver.fail(claim)).toBe(true);
  });

  it('keeps an attempt parked in its worker until it is answered', async () => {
    const { engine, driver, now, advance } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    await engine.markSent(claim);
    const asked = { inputs: [QUESTION], expiresAt: now() + HOUR };
    expect(await engine.ask(claim, asked, [])).toBe(true);
    await advance(LEASE_MS / 2);
    expect(await engine.renew([claim], LEASE_MS)).toMatchObject([{ held: true }]);
    await advance(LEASE_MS * 0.7);
    await nothing();
    expect(await engine.answer(id, [ANSWER])).toMatchObject({ state: 'running' });
    expect(await driver.read(id)).toMatchObject({ parked: true, answers: [ANSWER], seq: 0 });
    expect(await engine.resume(claim)).toBe(true);
    expect(await engine.resume(claim)).toBe(true);
    expect(await driver.read(id)).not.toHaveProperty('answers');
    expect(await driver.succeed(claim)).toBe(true);
  });

  it('gives up a parked attempt whose worker is gone, answered or not', async () => {
    const { engine, driver, now, advance } = context;
    for (const isAnswered of [false, true]) {
      const { id } = await driver.create({ idempotent: true });
      const claim = await driver.claimOne();
      await engine.ask(claim, { inputs: [QUESTION], expiresAt: now() + HOUR }, []);
      if (isAnswered) await engine.answer(id, [ANSWER]);
      await advance(LONG_AGO);
      const next = await driver.claimOne();
      expect(next).toMatchObject({ mode: 'interrupted', job: { id, parked: true, attempt: 1 } });
      expect(await driver.fail(next)).toBe(true);
    }
  });
}
