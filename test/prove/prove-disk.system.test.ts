import { expect, it } from 'vitest';
import { runCampaign } from '../../prove/disk/campaign.ts';

it('a gateway keeps its promises on a disk that is filled under load', async ({ task, skip }) => {
  const { signal } = new AbortController();
  const result = await runCampaign({ megabytes: 16, signal, tell: () => {} });
  if (typeof result === 'string') {
    const howToInstall = 'run the tests as a user that may mount a file system';
    task.meta.missingEngine = { engine: 'a small disk', reason: result, howToInstall };
    return skip(result);
  }
  expect(result.checks.filter(({ problem }) => problem !== undefined)).toEqual([]);
  expect(result.checks.length).toBeGreaterThan(15);
  expect(result.figures.jobs_stored).toBeGreaterThan(0);
});
