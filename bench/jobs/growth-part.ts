// What a whole job costs (accept, claim, mark, one event, end) in an empty file, and in one with very
// many finished jobs.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JobEngine, JobEvent } from '@starloom/core';
import { openSqliteJobs } from '@starloom/jobs';
import { temporaryFolder } from '@starloom/testkit';
import { measureRates, type Rate, type Target } from './rate.ts';
import { sampleJob } from './sample-job.ts';

const AT_ONCE = 64;

export async function measureGrowth(
  finished: number,
  seconds: number,
  signal: AbortSignal,
): Promise<Readonly<Record<string, Rate>>> {
  await using folder = await temporaryFolder();
  const paths = {
    empty: join(folder.path, 'empty.sqlite'),
    full: join(folder.path, 'full.sqlite'),
  };
  await (await openSqliteJobs({ path: paths.full })).close();
  fill(paths.full, finished);
  const empty = await openSqliteJobs({ path: paths.empty });
  const full = await openSqliteJobs({ path: paths.full });
  const targets: Target[] = [
    { name: 'empty', work: (isOver) => runJobs(empty, isOver) },
    { name: 'full', work: (isOver) => runJobs(full, isOver) },
  ];
  try {
    return await measureRates(targets, seconds, signal);
  } finally {
    await empty.close();
    await full.close();
  }
}

async function runJobs(engine: JobEngine, isOver: () => boolean): Promise<number> {
  let done = 0;
  while (!isOver()) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => engine.create(sampleJob())));
    const claims = await engine.claim({ leaseMs: 60_000, limit: AT_ONCE });
    await Promise.all(
      claims.map(async (claim) => {
        const { trace } = claim.job;
        const stamp = { at: new Date().toISOString(), trace, agent_id: 'agent' };
        const data = { answer: 'done' };
        const events: JobEvent[] = [
          { type: 'token', seq: 1, ...stamp, data: { text: 'done' } },
          { type: 'final', seq: 2, ...stamp, data },
        ];
        await engine.markSent(claim);
        await engine.finish(claim, { state: 'succeeded', result: data }, events);
      }),
    );
    await engine.counts();
    done += claims.length;
  }
  return done;
}

/** Rows as finished jobs leave them, written by SQLite itself. */
function fill(path: string, count: number): void {
  using database = new DatabaseSync(path);
  const record = JSON.stringify({ state: 'succeeded', padding: 'x'.repeat(600) });
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  database.exec(`PRAGMA synchronous = OFF; BEGIN;
    ${numbers} INSERT INTO job (id, principal, state, capability, finished_at, record)
      SELECT printf('%08x-0000-4000-8000-000000000000', i), 'bench', 'succeeded', 'research', i,
        '${record}' FROM n;
    ${numbers} INSERT INTO content (id, kind, text)
      SELECT printf('%08x-0000-4000-8000-000000000000', i), 'result', '{"answer":"done"}' FROM n;
    ${numbers} INSERT INTO event (position, number, text) SELECT i, 1, '{"type":"final"}' FROM n;
    INSERT INTO counter (state, jobs) VALUES ('succeeded', ${count}) ON CONFLICT DO NOTHING;
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`);
}
