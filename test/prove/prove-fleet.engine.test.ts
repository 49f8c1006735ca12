import { describeWithEngine } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { runCampaign } from '../../prove/fleet/campaign.ts';
import { openWorld } from '../../prove/fleet/world.ts';

// The short form of `npm run prove:fleet`.
describeWithEngine('postgres', () => {
  it('[G35][G38] loses no call, job or session while parts of a fleet die', async ({ signal }) => {
    await using world = await openWorld({ gateways: 2, nodes: 2 });
    const tell = () => {};
    const { violations, calls, jobs, faults } = await runCampaign({
      world,
      awayMs: 1_000,
      tell,
      signal,
    });
    expect(violations).toEqual([]);
    expect(Object.keys(calls)).toHaveLength(2);
    expect(jobs).toBeGreaterThan(0);
    expect(faults).toHaveLength(6);
  }, 240_000);
});
