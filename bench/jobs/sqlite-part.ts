// Accepted jobs per second on the embedded engine, beside as much as `node:sqlite` takes of the same
// bytes in batches of the same size, synced in the same way.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createJob, openSqliteJobs } from '@starloom/jobs';
import { temporaryFolder } from '@starloom/testkit';
import { inFlight, measureRates, type Target } from './rate.ts';
import { sampleJob } from './sample-job.ts';

const IN_FLIGHT = 256;

export async function measureSqlite(seconds: number, signal: AbortSignal) {
  await using folder = await temporaryFolder();
  const engine = await openSqliteJobs({ path: join(folder.path, 'jobs', 'jobs.sqlite') });
  using bare = new DatabaseSync(join(folder.path, 'bare.sqlite'));
  bare.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE job (position INTEGER PRIMARY KEY, id TEXT, record TEXT, call TEXT) STRICT;`);
  const insert = bare.prepare('INSERT INTO job (id, record, call) VALUES (?, ?, ?)');
  const targets: Target[] = [
    {
      name: 'starloom',
      work: (isOver) => inFlight(IN_FLIGHT, isOver, () => engine.create(sampleJob())),
    },
    {
      name: 'bare',
      async work(isOver) {
        let done = 0;
        for (; !isOver(); done += IN_FLIGHT) {
          bare.exec('BEGIN');
          for (let left = IN_FLIGHT; left > 0; left -= 1) {
            const job = sampleJob();
            const id = crypto.randomUUID();
            const record = JSON.stringify(createJob(job, id, Date.now()));
            insert.run(id, record, JSON.stringify(job.call));
          }
          bare.exec('COMMIT');
        }
        return done;
      },
    },
  ];
  try {
    return await measureRates(targets, seconds, signal);
  } finally {
    await engine.close();
  }
}
