import { describe, expect, it } from 'vitest';
import { Backoff, backoffMs } from '../src/index.ts';
import { ManualClock } from '../src/testing/index.ts';

const RULES = { firstMs: 100, longestMs: 1_000 };

describe('the wait between tries', () => {
  it('doubles from the first one up to the longest', () => {
    const waits = [0, 1, 2, 3, 4, 5, 50, 5_000].map((tries) => backoffMs({ ...RULES, tries }));
    expect(waits).toEqual([100, 100, 200, 400, 800, 1_000, 1_000, 1_000]);
  });

  it('is finite however often something failed, even without a longest one', () => {
    expect(backoffMs({ firstMs: 1, tries: 5_000 })).toBe(2 ** 16);
    expect(backoffMs({ firstMs: 0, tries: 5_000 })).toBe(0);
  });

  it('is spread by a factor within the longest one', () => {
    expect(backoffMs({ ...RULES, tries: 2, jitter: 0.5 })).toBe(100);
    expect(backoffMs({ ...RULES, tries: 9, jitter: 0.5 })).toBe(500);
    expect(backoffMs({ ...RULES, tries: 9, jitter: 2 })).toBe(1_000);
  });
});

describe('a backoff', () => {
  it('says when the next try may be, and forgets failures after a success', () => {
    const clock = new ManualClock();
    const backoff = new Backoff(RULES, clock);
    expect(backoff.remainingMs()).toBe(0);
    expect([backoff.failed(), backoff.failed()]).toEqual([100, 200]);
    expect(backoff.remainingMs()).toBe(200);
    clock.advance(150);
    expect(backoff.remainingMs()).toBe(50);
    clock.advance(150);
    expect(backoff.remainingMs()).toBe(0);
    backoff.succeeded();
    expect(backoff.failed()).toBe(100);
  });

  it('charges nothing for the first failures when those are free', () => {
    const backoff = new Backoff({ ...RULES, freeTries: 1 }, new ManualClock());
    expect([1, 2, 3].map(() => backoff.failed())).toEqual([0, 100, 200]);
  });
});
