import { openJournal } from '@starloom/journal';
import { temporaryFolder } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { call } from '../../packages/journal/test/contract/journal-contract.ts';
import { runCampaign } from '../../prove/disk/campaign.ts';
import { mountSmallDisk } from '../../prove/disk/small-disk.ts';

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

it('a journal on a full disk loses calls, says so, and goes on when there is room', async ({
  task,
  skip,
}) => {
  await using folder = await temporaryFolder();
  const mounted = mountSmallDisk(`${folder.path}/disk`, 16);
  if (typeof mounted === 'string') {
    const howToInstall = 'run the tests as a user that may mount a file system';
    task.meta.missingEngine = { engine: 'a small disk', reason: mounted, howToInstall };
    return skip(mounted);
  }
  using disk = mounted;
  const place = { kind: 'sqlite', path: `${disk.path}/journal/journal.sqlite` } as const;
  const journal = await openJournal(place, { calls: 1_000, gateway: 'here' });
  const write = async () => {
    for (let left = 100; left > 0; left -= 1) journal.write(call());
    await journal.flushed();
  };
  await write();
  disk.fill();
  await write();
  await expect(journal.check()).rejects.toMatchObject({ details: { reason: 'disk_full' } });
  expect((await journal.list({}, { limit: 1_000 })).calls).toHaveLength(100);
  disk.empty();
  await write();
  expect(await journal.check()).toEqual({ calls: 200, lost: 100 });
  await journal.close();
});
