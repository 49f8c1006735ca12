import { describe, expect, it } from 'vitest';
import { nextProgress } from '../../src/server/results.ts';

describe('the progress of one request', () => {
  it('keeps what an agent counts, and puts everything else slightly above the last', () => {
    const rising = { last: 0 };
    const first = nextProgress(rising);
    expect(first).toEqual({ progress: expect.closeTo(0, 4) });
    expect(nextProgress(rising, { progress: 0.5, total: 1 })).toEqual({ progress: 0.5, total: 1 });
    const ours = nextProgress(rising);
    expect(ours).toEqual({ progress: expect.closeTo(0.5, 4) });
    expect(ours.progress).toBeGreaterThan(0.5);
    expect(nextProgress(rising, { progress: 1, total: 1 })).toEqual({ progress: 1, total: 1 });
  });

  it('gives a count that does not rise no total', () => {
    const rising = { last: 10 };
    const again = nextProgress(rising, { progress: 10, total: 20 });
    expect(again).toEqual({ progress: expect.closeTo(10, 4) });
    expect(again.progress).toBeGreaterThan(10);
    expect(nextProgress(rising, { progress: 0, total: 20 }).progress).toBeGreaterThan(
      again.progress,
    );
    expect(nextProgress(rising, { progress: 11, total: 20 })).toEqual({ progress: 11, total: 20 });
  });

  it.each([0, 1, 1e6, 1e12, Number.MAX_SAFE_INTEGER])('rises from %d', (start) => {
    const rising = { last: start };
    const { progress } = nextProgress(rising);
    expect(progress).toBeGreaterThan(start);
    expect(nextProgress(rising).progress).toBeGreaterThan(progress);
  });
});
