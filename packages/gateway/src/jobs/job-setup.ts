import type { Clock, JobEngine } from '@starloom/core';
import { createMemoryJobEngine, MemoryJobTables } from '@starloom/jobs';
import { failure } from '../reasons.ts';

const MAX_TASKS = 1_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** Tasks of a gateway without jobs: as long as the process lives, the oldest that are over go first. */
export function createBoundedJobs(
  clock: Clock,
  { mostTasks = MAX_TASKS, mostBytes = MAX_BYTES } = {},
): JobEngine {
  const tables = new MemoryJobTables();
  const engine = createMemoryJobEngine(clock, tables);
  const isFull = () => {
    const { jobs, bytes } = tables.total();
    return jobs >= mostTasks || bytes >= mostBytes;
  };
  const create: JobEngine['create'] = engine.create.bind(engine);
  return Object.assign(engine, {
    create: async (job: Parameters<JobEngine['create']>[0]) => {
      const before = clock.now() + 1;
      while (isFull() && (await engine.prune({ before, limit: 1 })) > 0);
      if (isFull()) throw failure('too_many_tasks');
      return await create(job);
    },
  });
}
