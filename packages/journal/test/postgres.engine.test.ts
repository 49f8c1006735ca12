import { describeWithEngine, emptyDatabase } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { openJournal } from '../src/index.ts';
import { call, journalContract } from './contract/journal-contract.ts';

describeWithEngine('postgres', (postgres) => {
  const open = (url: string, gateway = 'node-a', calls = 1_000) =>
    openJournal({ kind: 'postgres', url }, { calls, gateway });

  journalContract(async (calls) => open(await emptyDatabase(postgres().url), 'node-a', calls));

  it('shows each gateway what the others wrote, and misses nothing of it', async () => {
    const url = await emptyDatabase(postgres().url);
    const [first, second] = await Promise.all([open(url), open(url, 'node-b')]);
    const stop = new AbortController();
    const seen = new Set<string>();
    const following = (async () => {
      for await (const one of second.follow({}, { signal: stop.signal, after: 0 })) {
        seen.add(one.span_id);
        if (seen.size === 2_000) stop.abort();
      }
    })();
    for (let left = 1_000; left > 0; left -= 1) {
      first.write(call());
      second.write(call({ gateway: 'node-b' }));
      if (left % 100 === 0) await Promise.all([first.flushed(), second.flushed()]);
    }
    await Promise.all([first.flushed(), second.flushed()]);
    await following;
    const [row] = await first.usage({ by: 'caller' });
    expect(row).toMatchObject({ key: 'alice', calls: 2_000 });
    await Promise.all([first.close(), second.close()]);
  });

  it('loses calls while the database is away, and says so', async () => {
    const journal = await open('postgres://nobody@127.0.0.1:1/none');
    journal.write(call());
    await journal.flushed();
    await expect(journal.check()).rejects.toMatchObject({ code: 'OVERLOADED' });
    await journal.close();
  });
});
