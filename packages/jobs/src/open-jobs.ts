import { join } from 'node:path';
import type { Clock, JobEngine, Log } from '@starloom/core';

/** Where jobs are kept: the section `jobs` of `starloom.yaml`, with its secrets revealed. */
export type JobsPlace =
  | { readonly kind: 'sqlite'; readonly path?: string | undefined }
  | {
      readonly kind: 'postgres';
      readonly url: string;
      /** A folder that all gateways share, for large documents. */
      readonly documents?: string | undefined;
    };

export interface OpenJobsOptions {
  readonly stateFolder: string;
  readonly log: Log;
  readonly clock?: Clock;
}

/** Opens the engine that the configuration names, and loads nothing of the other one. */
export async function openJobs(place: JobsPlace, options: OpenJobsOptions): Promise<JobEngine> {
  const { stateFolder, log, clock } = options;
  const shared = { ...(clock !== undefined && { clock }) };
  switch (place.kind) {
    case 'sqlite': {
      const { openSqliteJobs } = await import('./sqlite.ts');
      const path = place.path ?? join(stateFolder, 'jobs', 'jobs.sqlite');
      return openSqliteJobs({ path, log, ...shared });
    }
    case 'postgres': {
      const { openPostgresJobs } = await import('./postgres.ts');
      return openPostgresJobs({
        url: place.url,
        documents: place.documents ?? join(stateFolder, 'jobs', 'documents'),
        log,
        ...shared,
      });
    }
  }
}
