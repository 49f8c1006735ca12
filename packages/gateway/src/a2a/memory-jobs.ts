import { type Clock, FabricError, type JobEngine } from '@starloom/core';
import { createMemoryJobEngine, MemoryJobTables } from '@starloom/jobs';

const MOST_TASKS = 1_000;
const MOST_LENGTH = 64 * 1024 * 1024;

/** Tasks of a gateway without jobs: as long as the process lives, the oldest that are over go first. */
export function createBoundedJobs(
  clock: Clock,
  { mostTasks = MOST_TASKS, mostLength = MOST_LENGTH } = {},
): JobEngine {
  const tables = new MemoryJobTables();
  const engine = createMemoryJobEngine(clock, tables);
  const isFull = () => tables.size >= mostTasks || tables.length >= mostLength;
  const create: JobEngine['create'] = engine.create.bind(engine);
  return Object.assign(engine, {
    create: async (job: Parameters<JobEngine['create']>[0]) => {
      const before = clock.now() + 1;
      while (isFull() && (await engine.prune({ before, limit: 1 })) > 0);
      if (isFull()) throw full();
      return await create(job);
    },
  });
}

function full(): FabricError {
  return new FabricError('OVERLOADED', 'The gateway keeps as many open tasks as it may', {
    details: { reason: 'too_many_tasks', fix: 'finish or cancel tasks, or turn on jobs' },
  });
}
