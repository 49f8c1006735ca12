import type { MemoryAgent } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { CallSlots } from '../../src/pipeline/agent-gate.ts';
import { answers, call, connect, openTestGateway, STRANGER_KEY } from '../test-gateway.ts';

const never = new AbortController().signal;

describe('slots for calls', () => {
  it('are given at once, then to those that wait, in turn, and refused beyond that', async () => {
    const slots = new CallSlots({ of: 'agent', limit: 8, waitMs: 60_000 });
    for (let n = 0; n < 8; n += 1) expect(slots.enter('a', never)).toBeUndefined();
    const waiting = slots.enter('a', never);
    await expect(slots.enter('a', never)).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { reason: 'calls_per_agent', limit: 8, retry_after_ms: 60_000, sent: false },
    });
    expect(slots.enter('b', never)).toBeUndefined();
    slots.leave('a');
    await waiting;
    for (let n = 0; n < 8; n += 1) slots.leave('a');
    for (let n = 0; n < 8; n += 1) expect(slots.enter('a', never)).toBeUndefined();
  });

  it('are never all of one holder, also when one that waits gets its turn', async () => {
    const slots = new CallSlots({ of: 'agent', limit: 16, waitMs: 60_000 });
    for (let n = 0; n < 15; n += 1) expect(slots.enter('a', never, 'noisy')).toBeUndefined();
    const more = slots.enter('a', never, 'noisy');
    expect(slots.enter('a', never, 'other')).toBeUndefined();
    const another = slots.enter('a', never, 'other');
    slots.leave('a', 'other');
    await another;
    slots.leave('a', 'noisy');
    await more;
  });

  it('are not waited for longer than the wait, nor by a caller that leaves', async () => {
    const slots = new CallSlots({ of: 'principal', limit: 1, waitMs: 1 });
    await slots.enter('a', never);
    await expect(slots.enter('a', never)).rejects.toMatchObject({ code: 'OVERLOADED' });
    const patient = new CallSlots({ of: 'principal', limit: 1, waitMs: 60_000 });
    await patient.enter('a', never);
    const control = new AbortController();
    const waiting = patient.enter('a', control.signal);
    control.abort(new DOMException('left', 'AbortError'));
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describe('a caller with too many calls in flight', () => {
  const hangs: MemoryAgent = async function* (_envelope, signal) {
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    yield { type: 'final', data: { answer: '' } };
  };
  const config = { limits: { calls_per_principal: 4, calls_per_agent: 6 } };
  const agents = { slow: { run: hangs }, quick: { run: answers('done') } };

  it('is refused, and others are served', async () => {
    await using gateway = await openTestGateway(agents, { config });
    await using noisy = await connect(gateway.url);
    await using other = await connect(gateway.url, 'auto', {
      authorization: `Bearer ${STRANGER_KEY}`,
    });
    const control = new AbortController();
    const { signal } = control;
    const open = Array.from({ length: 4 }, () =>
      call(noisy, 'slow.work', {}, { signal }).catch(() => {}),
    );
    const toQuick = { agent_id: 'quick', capability: 'work' };
    await expect
      .poll(async () => (await call(noisy, 'fabric.call', toQuick)).payload.error?.details.reason)
      .toBe('calls_per_principal');
    expect((await call(other, 'fabric.call', toQuick)).payload.result.answer).toBe('done');
    control.abort();
    await Promise.all(open);
    await expect
      .poll(async () => (await call(noisy, 'fabric.call', toQuick)).payload.ok)
      .toBe(true);
  });
});
