import { describeWithEngine } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { SIZES } from '../../bench/coordination/plan.ts';
import { toReport } from '../../bench/coordination/report.ts';
import { run } from '../../bench/coordination/run.ts';
import { readOrigin } from '../../bench/origin.ts';

const TINY = { seconds: 0.2, warmup: 0, sliceMs: 100, cores: undefined, sizes: SIZES };
const POSITIVE = expect.toSatisfy((value: unknown) => typeof value === 'number' && value > 0);

describeWithEngine('redis', (redis) => {
  it('compares the plane on Redis with the very commands it sends', async () => {
    const context = { signal: new AbortController().signal, tell: () => {} };
    const report = toReport(await run({ ...TINY, parts: ['redis'] }, context), readOrigin('redis'));
    expect(report.failures).toEqual([]);
    expect(report).toMatchObject({
      passed: 4,
      failed: 0,
      ratios: {
        'starloom_over_bare.redis.lock_token': POSITIVE,
        'starloom_over_bare.redis.with_lock': POSITIVE,
      },
      versions: { 'redis-server': redis().version },
    });
  });
});
