import { join } from 'node:path';
import type { JobEngine } from '@starloom/core';
import type { KeptJobsOptions } from './ledger/ledger-engine.ts';

/** Where jobs are kept: the section `jobs` of `starloom.yaml`, with its secrets revealed. */
export type JobsPlace =
  | { readonly kind: 'sqlite'; readonly path?: string | undefined }
  | {
      readonly kind: 'postgres';
      readonly url: string;
      /** A folder that all gateways share, for large documents. */
      readonly documents?: string | undefined;
    };

export interface OpenJobsOptions extends KeptJobsOptions {
  readonly stateFolder: string;
}

/** Opens the engine that the configuration names, and loads nothing of the other one. */
export async function openJobs(place: JobsPlace, options: OpenJobsOptions): Promise<JobEngine> {
  const { stateFolder, ...kept } = options;
  switch (place.kind) {
    case 'sqlite': {
      const { openSqliteJobs } = await import('./sqlite.ts');
      const path = place.path ?? join(stateFolder, 'jobs', 'jobs.sqlite');
      return openSqliteJobs({ ...kept, path });
    }
    case 'postgres': {
      const { openPostgresJobs } = await import('./postgres.ts');
      const documents = place.documents ?? join(stateFolder, 'jobs', 'documents');
      return openPostgresJobs({ ...kept, url: place.url, documents });
    }
  }
}
