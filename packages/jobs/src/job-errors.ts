import { FabricError, type JobQuota } from '@starloom/core';

export function assertQuota(used: JobQuota, asked: number, quota: JobQuota): void {
  if (used.jobs >= quota.jobs) {
    throw new FabricError('RATE_LIMITED', `The caller has ${quota.jobs} jobs that are not over`, {
      details: {
        reason: 'jobs_quota',
        limit: quota.jobs,
        fix: 'Wait for jobs to end, cancel some, or raise `jobs.per_principal`',
      },
    });
  }
  if (used.bytes + asked <= quota.bytes) return;
  throw new FabricError('RATE_LIMITED', `The jobs of the caller may take ${quota.bytes} bytes`, {
    details: {
      reason: 'job_bytes_quota',
      limit: quota.bytes,
      used: used.bytes,
      asked,
      fix: 'Cancel jobs, wait until finished ones are deleted, or raise `jobs.bytes_per_principal`',
    },
  });
}

/** One answer for unknown, foreign and malformed ids. */
export function jobNotFound(id: unknown): FabricError {
  return new FabricError('JOB_NOT_FOUND', 'There is no such job', {
    details: {
      job_id: typeof id === 'string' ? id.slice(0, 64) : null,
      fix: 'list your jobs with fabric.job.list',
    },
  });
}
