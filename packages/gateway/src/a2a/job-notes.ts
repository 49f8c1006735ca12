import { FabricError, type JobRecords } from '@starloom/core';
import { jobNotFound } from '@starloom/jobs';

const MOST_TRIES = 20;

/** Changes what is kept with a job, even while another gateway changes it; `undefined` removes it. */
export async function changeNote<Note>(
  records: Pick<JobRecords, 'get' | 'note'>,
  id: string,
  name: string,
  change: (before: Note | undefined) => Note | undefined,
): Promise<void> {
  for (let left = MOST_TRIES; left > 0; left -= 1) {
    const job = await records.get(id);
    if (job === undefined) throw jobNotFound(id);
    const was = job.notes?.[name] as Note | undefined;
    if (await records.note(id, { name, was, value: change(was) })) return;
  }
  throw new FabricError('OVERLOADED', 'The task changes too fast', {
    details: { reason: 'engine_busy', fix: 'Try again' },
  });
}
