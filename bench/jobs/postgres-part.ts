// Accepted jobs per second on Postgres, beside pg-boss alone: by `send`, as its users call it, and by
// `insert` in batches of the size that our group commit reaches.

import { openPostgresJobs } from '@starloom/jobs';
import { openEngine, temporaryFolder } from '@starloom/testkit';
import { PgBoss } from 'pg-boss';
import { inFlight, measureRates, type Target } from './rate.ts';
import { sampleJob } from './sample-job.ts';

const IN_FLIGHT = 256;
const CONNECTIONS = 10;

export async function measurePostgres(seconds: number, signal: AbortSignal) {
  await using opened = new AsyncDisposableStack();
  const postgres = opened.use(await openEngine('postgres'));
  const folder = opened.use(await temporaryFolder());
  const engine = await openPostgresJobs({
    url: postgres.url,
    documents: folder.path,
    maxConnections: CONNECTIONS,
  });
  opened.defer(() => engine.close());
  const boss = new PgBoss({ connectionString: postgres.url, max: CONNECTIONS, schema: 'alone' });
  await boss.start();
  opened.defer(() => boss.stop({ graceful: false }));
  await boss.createQueue('jobs');
  const data = () => ({ ...sampleJob() });
  const targets: Target[] = [
    {
      name: 'starloom',
      work: (isOver) => inFlight(IN_FLIGHT, isOver, () => engine.create(sampleJob())),
    },
    {
      name: 'pg_boss_send',
      work: (isOver) => inFlight(IN_FLIGHT, isOver, () => boss.send('jobs', data())),
    },
    {
      name: 'pg_boss_insert',
      async work(isOver) {
        const batch = () => Array.from({ length: IN_FLIGHT }, () => ({ data: data() }));
        return IN_FLIGHT * (await inFlight(2, isOver, () => boss.insert('jobs', batch())));
      },
    },
  ];
  const rates = await measureRates(targets, seconds, signal);
  return { rates, version: postgres.version };
}
