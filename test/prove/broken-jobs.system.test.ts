import { describe, expect, it } from 'vitest';
import { BROKEN_ENGINES } from '../../prove/jobs/broken-engines.ts';
import { runCampaign } from '../../prove/jobs/campaign.ts';
import { INVARIANTS, type Invariant } from '../../prove/jobs/check.ts';
import { openLocalWorld } from '../../prove/jobs/local-world.ts';
import { openSqliteWorld } from '../../prove/jobs/world.ts';

const QUICK = { seconds: 4, clients: 8, restMs: 4_000, followMs: 2_000, tell: () => {} };
/** A kill must come while a job is where the fault shows: a campaign as short as these misses that now and then. */
const MAX_ATTEMPTS = 8;
const PATIENCE = { timeout: 240_000 };

describe.concurrent('a campaign over jobs', () => {
  it('finds nothing wrong with an engine that keeps its promises', async () => {
    const { signal } = new AbortController();
    const open = (random: Parameters<typeof openLocalWorld>[0]) => openLocalWorld(random, (e) => e);
    const result = await runCampaign({ ...QUICK, open, seed: 1, signal });
    expect(result.violations).toEqual([]);
    expect(result.jobs).toBeGreaterThan(20);
  });

  for (const [name, { breaks, breakIt }] of Object.entries(BROKEN_ENGINES)) {
    it(`catches an engine that ${name.replaceAll('_', ' ')}`, PATIENCE, async ({ signal }) => {
      const open = (random: Parameters<typeof openLocalWorld>[0]) =>
        openLocalWorld(random, breakIt);
      const found: Invariant[] = [];
      for (let seed = 1; seed <= MAX_ATTEMPTS && !found.includes(breaks); seed += 1) {
        const { violations } = await runCampaign({ ...QUICK, open, seed, signal });
        found.push(...violations.map(({ invariant }) => invariant));
      }
      expect(found).toContain(breaks);
    });
  }

  it('catches a gateway that ends by itself', async () => {
    const { signal } = new AbortController();
    const open = (random: Parameters<typeof openSqliteWorld>[0]) =>
      openSqliteWorld(random, { diesAfterMs: 1_500 });
    const { violations } = await runCampaign({ ...QUICK, open, seed: 1, signal });
    expect(violations.map(({ invariant }) => invariant)).toContain('stays_up');
  });

  it('has a broken variant for every promise', () => {
    const broken = new Set<string>(Object.values(BROKEN_ENGINES).map(({ breaks }) => breaks));
    expect(INVARIANTS.filter((invariant) => !broken.has(invariant))).toEqual(['stays_up']);
  });
});
