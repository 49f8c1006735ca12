import { beforeAll, describe, expect, it } from 'vitest';
import { judge, readBaseline, type Verdict } from './baseline.ts';
import { REVISIONS, runSuite, type ScenarioResult } from './suite.ts';
import { startConformanceWorld } from './world.ts';

describe('the official conformance suite, through the gateway', () => {
  const results: ScenarioResult[] = [];
  let verdict: Verdict;

  beforeAll(async () => {
    await using world = await startConformanceWorld();
    for (const revision of REVISIONS)
      results.push(...(await runSuite(world.gateway.url, revision)));
    verdict = judge(results, await readBaseline());
  });

  it('[G1] finds nothing wrong in the current and an older revision but what is listed', () => {
    expect(verdict.unexpected).toEqual([]);
    expect(results.filter(({ scored }) => scored).length).toBeGreaterThan(60);
  });

  it('has no listed failure that is none any more', () => {
    expect(verdict.stale).toEqual([]);
  });
});
