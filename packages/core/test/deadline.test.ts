import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Deadline, defaultDeadlineMs } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';

const ms = fc.integer({ min: 1, max: 3_600_000 });

describe('deadline', () => {
  it('has what is left and never less than nothing', () => {
    fc.assert(
      fc.property(ms, ms, (total, passed) => {
        const clock = new ManualClock();
        const deadline = new Deadline(total, clock);
        clock.advance(passed);
        expect(deadline.remainingMs()).toBe(Math.max(0, total - passed));
        expect(deadline.passed).toBe(passed >= total);
      }),
    );
  });

  it('bounds each attempt by its own timeout and by what is left', () => {
    fc.assert(
      fc.property(ms, ms, ms, (total, passed, timeout) => {
        const clock = new ManualClock();
        const deadline = new Deadline(total, clock);
        clock.advance(passed);
        expect(deadline.attemptMs(timeout)).toBe(Math.min(timeout, deadline.remainingMs()));
      }),
    );
  });

  it('is three attempts long unless told otherwise, and says so when it has passed', () => {
    const clock = new ManualClock();
    const deadline = new Deadline(defaultDeadlineMs(60_000), clock);
    expect(deadline.totalMs).toBe(180_000);
    clock.advance(179_999);
    expect(() => deadline.assertOpen()).not.toThrow();
    clock.advance(1);
    expect(() => deadline.assertOpen()).toThrow(expect.objectContaining({ code: 'TIMEOUT' }));
  });
});
