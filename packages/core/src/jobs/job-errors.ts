import { FabricError } from '../errors.ts';

/** One answer for unknown, foreign and malformed ids. */
export function jobNotFound(id: unknown): FabricError {
  return new FabricError('JOB_NOT_FOUND', 'There is no such job', {
    details: {
      job_id: typeof id === 'string' ? id.slice(0, 64) : null,
      fix: 'list your jobs with fabric.job.list',
    },
  });
}
