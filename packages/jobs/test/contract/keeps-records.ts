import { expect, it } from 'vitest';
import { exampleJob, FAILURE, LEASE_MS } from './job-driver.ts';
import type { JobContractContext } from './job-engine-contract.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const DAY = 24 * 60 * 60 * 1000;

export function keepsRecords(context: JobContractContext): void {
  it('keeps a job with its call', async () => {
    const { engine, driver, now } = context;
    const call = { task: 'echo “hi”', list: [1, null, { deep: true }] };
    const { job, created } = await engine.create(exampleJob({ call, priority: 3 }));
    expect(created).toBe(true);
    expect(job).toMatchObject({ state: 'queued', attempt: 0, sent: false, cursor: 0, priority: 3 });
    expect(job.created_at).toBe(now());
    expect(await driver.read(job.id)).toEqual(job);
    expect(await engine.callOf(job.id)).toEqual(call);
  });

  it('knows no job by an unknown or malformed id', async () => {
    const { engine } = context;
    for (const id of [UNKNOWN, '', 'x', `'; --`, 'a'.repeat(10_000), '\0']) {
      expect(await engine.get(id)).toBeUndefined();
      expect(await engine.callOf(id)).toBeUndefined();
      expect(await engine.requestCancel(id)).toBeUndefined();
      expect(await engine.answer(id, [{ id: 'q', response: {} }])).toBeUndefined();
      await expect(engine.events(id, { after: 0, limit: 1 })).rejects.toMatchObject({
        code: 'JOB_NOT_FOUND',
      });
    }
  });

  it('refuses a priority out of range, and stores nothing', async () => {
    const { engine } = context;
    for (const priority of [1.5, 1001, Number.NaN]) {
      await expect(engine.create(exampleJob({ priority }))).rejects.toMatchObject({
        code: 'BAD_INPUT',
      });
    }
    expect((await engine.counts()).states.queued).toBe(0);
  });

  it('gives the same job for the same key of the same principal', async () => {
    const { engine } = context;
    const keyed = exampleJob({ idempotencyKey: 'once' });
    const made = await Promise.all([engine.create(keyed), engine.create(keyed)]);
    expect(made.map(({ created }) => created).sort()).toEqual([false, true]);
    expect(made[0]?.job.id).toBe(made[1]?.job.id);
    const other = await engine.create({ ...keyed, principalId: 'bob' });
    expect(other.created).toBe(true);
    expect((await engine.counts()).states.queued).toBe(2);
  });

  it('takes another order of the same arguments for the same call', async () => {
    const { engine } = context;
    const first = await engine.create(exampleJob({ idempotencyKey: 'k', call: { a: 1, b: 2 } }));
    const again = await engine.create(exampleJob({ idempotencyKey: 'k', call: { b: 2, a: 1 } }));
    expect(again.job.id).toBe(first.job.id);
  });

  it('refuses a key that was used with other arguments', async () => {
    const { engine } = context;
    const { job } = await engine.create(exampleJob({ idempotencyKey: 'k', call: { n: 1 } }));
    const other = engine.create(exampleJob({ idempotencyKey: 'k', call: { n: 2 } }));
    await expect(other).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'idempotency_key_reused', job_id: job.id },
    });
  });

  it('forgets a key after 24 hours', async () => {
    const { engine, advance } = context;
    const first = await engine.create(exampleJob({ idempotencyKey: 'k' }));
    await advance(DAY + 1000);
    const second = await engine.create(exampleJob({ idempotencyKey: 'k' }));
    expect(second.created).toBe(true);
    expect(second.job.id).not.toBe(first.job.id);
  });

  it('lists the jobs of one principal by pages, newest first', async () => {
    const { engine, driver } = context;
    const ids: string[] = [];
    for (let left = 5; left > 0; left -= 1) ids.unshift((await driver.create()).id);
    await driver.create({ principalId: 'bob' });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await engine.list({
        principalId: 'alice',
        limit: 2,
        ...(cursor !== undefined && { cursor }),
      });
      seen.push(...page.jobs.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual(ids);
  });

  it('lists the jobs of all principals where none is named', async () => {
    const { engine, driver } = context;
    const first = await driver.create();
    const second = await driver.create({ principalId: 'bob' });
    const page = await engine.list({ limit: 10, state: 'queued' });
    expect(page.jobs.map(({ id }) => id)).toEqual([second.id, first.id]);
  });

  it('lists by state and capability, and refuses a cursor of its own making', async () => {
    const { engine, driver } = context;
    const other = await driver.create({ capability: 'fs:other' });
    const claim = await driver.claimOne();
    const queued = await driver.create();
    const ids = async (filter: object) => {
      const page = await engine.list({ principalId: 'alice', limit: 10, ...filter });
      return page.jobs.map(({ id }) => id);
    };
    expect(await ids({ state: 'running' })).toEqual([claim.job.id]);
    expect(await ids({ state: 'queued' })).toEqual([queued.id]);
    expect(await ids({ capability: 'fs:other' })).toEqual([other.id]);
    expect(await ids({ capability: 'fs.other' })).toEqual([other.id]);
    expect(await ids({ capability: 'fs:other', state: 'failed' })).toEqual([]);
    await expect(ids({ cursor: 'soon' })).rejects.toMatchObject({ code: 'BAD_INPUT' });
  });

  it('keeps events in order and reads on from a cursor', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    const events = driver.stamp(claim.job, ...['a', 'b', 'c'].map(driver.token));
    expect(await engine.append(claim, events.slice(0, 2))).toBe(true);
    expect(await engine.append(claim, events.slice(2))).toBe(true);
    const first = await engine.events(id, { after: 0, limit: 2 });
    expect(first).toEqual({ events: events.slice(0, 2), cursor: 2 });
    const rest = await engine.events(id, { after: first.cursor, limit: 10 });
    expect(rest).toEqual({ events: events.slice(2), cursor: 3 });
    expect(await engine.events(id, { after: 3, limit: 10 })).toEqual({ events: [], cursor: 3 });
    expect(await driver.read(id)).toMatchObject({ cursor: 3, seq: 3 });
  });

  it('refuses a cursor from the future', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create();
    for (const after of [1, -1, 0.5, Number.NaN]) {
      await expect(engine.events(id, { after, limit: 10 })).rejects.toMatchObject({
        code: 'BAD_INPUT',
        details: { reason: 'bad_cursor' },
      });
    }
  });

  it('refuses an event that leaves a gap or comes twice', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    const [first, second, third] = driver.stamp(claim.job, ...['a', 'b', 'c'].map(driver.token));
    if (!first || !second || !third) return expect.fail('no events');
    await engine.append(claim, [first]);
    for (const events of [[third], [first], [second, second]]) {
      await expect(engine.append(claim, events)).rejects.toMatchObject({ code: 'INTERNAL' });
    }
    expect((await engine.events(id, { after: 0, limit: 9 })).events).toEqual([first]);
  });

  it('shows the last progress, and all of it once the job succeeded', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    const bodies = [10, 40].map(
      (percent) => ({ type: 'progress', data: { percent, message: `${percent}` } }) as const,
    );
    await engine.append(claim, driver.stamp(claim.job, ...bodies, driver.token('x')));
    expect((await driver.read(id)).progress).toEqual({ percent: 40, message: '40' });
    await driver.succeed(claim);
    expect((await driver.read(id)).progress).toEqual({ percent: 100, message: '40' });
  });

  it('ends a job once, with its last events and its result', async () => {
    const { engine, driver, now } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    expect(await driver.succeed(claim, 'done')).toBe(true);
    const job = await engine.get(id);
    expect(job).toMatchObject({ state: 'succeeded', result: { answer: 'done' }, cursor: 1 });
    expect(job?.finished_at).toBe(now());
    const again = driver.stamp(claim.job, { type: 'final', data: { answer: 'late' } });
    const second = engine.finish(claim, { state: 'succeeded', result: 2 }, again);
    expect(await second).toBe(false);
    expect(await engine.append(claim, again)).toBe(false);
    expect(await engine.markSent(claim)).toBe(false);
    expect(await engine.retry(claim, [])).toBe(false);
    expect(await engine.get(id)).toEqual(job);
    expect((await engine.events(id, { after: 0, limit: 9 })).events).toMatchObject([
      { type: 'final', data: { answer: 'done' } },
    ]);
  });

  it('ends the stream of a failed job with its error', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create();
    const claim = await driver.claimOne();
    await engine.append(claim, driver.stamp(claim.job, driver.token('a')));
    expect(await driver.fail(claim)).toBe(true);
    const { events } = await engine.events(id, { after: 1, limit: 9 });
    expect(events).toMatchObject([{ type: 'error', seq: 2, error: FAILURE.error }]);
    expect(await engine.get(id)).toMatchObject({ state: 'failed', error: FAILURE.error });
  });

  it('notifies watchers of every change, until they stop', async () => {
    const { engine, driver } = context;
    const { id } = await driver.create();
    const other = await driver.create();
    let hints = 0;
    let otherHints = 0;
    const stop = engine.watch(id, () => {
      hints += 1;
    });
    const stopOther = engine.watch(other.id, () => {
      otherHints += 1;
    });
    const claim = await driver.claimOne();
    await engine.append(claim, driver.stamp(claim.job, driver.token('a')));
    await expect.poll(() => hints).toBeGreaterThan(0);
    const before = hints;
    await driver.succeed(claim);
    await expect.poll(() => hints).toBeGreaterThan(before);
    stop();
    expect(otherHints).toBe(0);
    await engine.requestCancel(other.id);
    await expect.poll(() => otherHints).toBeGreaterThan(0);
    stopOther();
  });

  it('erases all jobs of a principal, and no other', async () => {
    const { engine, driver, now } = context;
    const over = await driver.create({ idempotencyKey: 'k', deadlineAt: now() + 60 * DAY });
    await driver.succeed(await driver.claimOne());
    const queued = await driver.create();
    const { principal_id } = (await engine.get(over.id)) ?? expect.unreachable();
    expect(await engine.erase('nobody')).toEqual({ deleted: 0, open: 0 });
    expect(await engine.erase(principal_id)).toEqual({ deleted: 2, open: 0 });
    for (const { id } of [over, queued]) expect(await engine.get(id)).toBeUndefined();
    expect(await engine.erase(principal_id)).toEqual({ deleted: 0, open: 0 });
  });

  it('prunes jobs that ended long ago, and no other', async () => {
    const { engine, driver, now, advance } = context;
    const old = await driver.create();
    await driver.succeed(await driver.claimOne());
    const keyed = await driver.create({ idempotencyKey: 'k', deadlineAt: now() + 60 * DAY });
    await driver.succeed(await driver.claimOne());
    await advance(DAY / 2);
    const recent = await driver.create();
    await driver.succeed(await driver.claimOne());
    const open = await driver.create();
    expect(await engine.prune({ before: now() - 1000, limit: 10 })).toBe(1);
    expect(await engine.get(old.id)).toBeUndefined();
    await expect(engine.events(old.id, { after: 0, limit: 1 })).rejects.toMatchObject({
      code: 'JOB_NOT_FOUND',
    });
    for (const { id } of [keyed, recent, open]) expect(await engine.get(id)).toBeDefined();
  });

  it('keeps notes with a job through all that happens to it, each as it is expected to be', async () => {
    const { engine, driver } = context;
    const { id, updated_at } = await driver.create();
    const value = { urls: ['https://example.com/"due":{'] };
    expect(await engine.note(id, { name: 'a', was: undefined, value })).toBe(true);
    expect(await engine.note(id, { name: 'a', was: undefined, value: 1 })).toBe(false);
    expect(await engine.note(id, { name: 'b', was: undefined, value: 2 })).toBe(true);
    expect((await engine.get(id))?.updated_at).toBe(updated_at);
    await driver.succeed(await driver.claimOne());
    expect((await engine.get(id))?.notes).toEqual({ a: value, b: 2 });
    expect(await engine.note(id, { name: 'a', was: value, value: undefined })).toBe(true);
    expect(await engine.note(id, { name: 'b', was: 2, value: undefined })).toBe(true);
    expect(await engine.get(id)).not.toHaveProperty('notes');
    const unknown = crypto.randomUUID();
    expect(await engine.note(unknown, { name: 'a', was: undefined, value })).toBe(false);
  });

  it('lists the jobs that are noted as due, in any state, oldest first', async () => {
    const { engine, driver } = context;
    const [first, other, second] = [
      await driver.create(),
      await driver.create(),
      await driver.create(),
    ];
    await engine.note(other.id, { name: 'other', was: undefined, value: { due: {} } });
    const due = { name: 'due', was: undefined, value: { after: 0 } };
    for (const { id } of [second, first]) await engine.note(id, due);
    await driver.succeed(await driver.claimOne());
    const ids = async (limit: number) => (await engine.listDue(limit)).map(({ id }) => id);
    expect(await ids(10)).toEqual([first.id, second.id]);
    expect(await ids(1)).toEqual([first.id]);
    await engine.note(first.id, { name: 'due', was: due.value, value: undefined });
    expect(await ids(10)).toEqual([second.id]);
  });

  it('counts jobs by state, and says how long the oldest waits', async () => {
    const { engine, driver, now, advance } = context;
    await driver.create();
    const since = now();
    await driver.succeed(await driver.claimOne());
    await driver.create();
    await advance(1000);
    await driver.create();
    const { states, oldest_queued_at } = await engine.counts();
    expect(states).toMatchObject({ queued: 2, running: 0, succeeded: 1, failed: 0 });
    expect(oldest_queued_at).toBe(since);
  });

  it('queues the webhook of a job that ended, and tries again later', async () => {
    const { engine, driver, advance } = context;
    const webhook = { url: 'https://example.com/hook', secret: 's' };
    const { id } = await driver.create({ webhook });
    const claimHook = async () => {
      const claims = await engine.claim({ purpose: 'webhook', leaseMs: LEASE_MS, limit: 5 });
      return claims.map(({ job, tries, ...rest }) => ({ ...rest, id: job.id, tries, job }));
    };
    expect(await claimHook()).toEqual([]);
    await driver.succeed(await driver.claimOne());
    const [first] = await claimHook();
    if (!first) return expect.fail('no webhook');
    expect(first).toMatchObject({ id, tries: 1, job: { state: 'succeeded', webhook } });
    await engine.postpone(first, 5_000);
    expect(await claimHook()).toEqual([]);
    await advance(6_000);
    const [second] = await claimHook();
    if (!second) return expect.fail('no second try');
    expect(second).toMatchObject({ id, tries: 2 });
    await engine.settle(second);
    await advance(10 * LEASE_MS);
    expect(await claimHook()).toEqual([]);
  });
}
