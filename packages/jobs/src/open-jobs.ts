import { join } from 'node:path';
import type { Clock, JobEngine, Log } from '@starloom/core';
import { z } from 'zod';

const common = {
  keep_hours: z
    .number()
    .positive()
    .default(24 * 7)
    .describe('How long finished jobs are kept'),
  concurrency: z.int().positive().default(256).describe('Jobs that one gateway runs at once'),
  per_agent: z.int().positive().optional().describe('Jobs of one agent that run at once'),
  lease_ms: z.int().min(1_000).default(30_000).describe('A silent worker loses its job after this'),
  cancel_grace_ms: z.int().positive().default(10_000).describe('Then a cancellation is forced'),
  inline_bytes: z.int().min(1024).default(262_144).describe('Larger documents become files'),
  webhook_secret: z.string().min(1).optional().describe('Signs webhooks without a secret'),
};

/** The section `jobs` of `starloom.yaml`. */
export const jobsConfigSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('sqlite'),
    path: z.string().min(1).optional().describe('The database file; default: in the state folder'),
    ...common,
  }),
  z.strictObject({
    kind: z.literal('postgres'),
    url: z.string().min(1).describe('postgres://user@host/database'),
    documents: z.string().min(1).optional().describe('A folder that all gateways share'),
    max_connections: z.int().min(2).default(10),
    ...common,
  }),
]);

export type JobsConfig = z.infer<typeof jobsConfigSchema>;

export interface OpenJobsOptions {
  readonly stateFolder: string;
  readonly log: Log;
  readonly clock?: Clock;
}

/** Opens the engine that the configuration names, and loads nothing of the other one. */
export async function openJobs(config: JobsConfig, options: OpenJobsOptions): Promise<JobEngine> {
  const { stateFolder, log, clock } = options;
  const shared = { inlineBytes: config.inline_bytes, ...(clock !== undefined && { clock }) };
  switch (config.kind) {
    case 'sqlite': {
      const { openSqliteJobs } = await import('./sqlite.ts');
      const path = config.path ?? join(stateFolder, 'jobs', 'jobs.sqlite');
      return openSqliteJobs({ path, ...shared });
    }
    case 'postgres': {
      const { openPostgresJobs } = await import('./postgres.ts');
      return openPostgresJobs({
        url: config.url,
        documents: config.documents ?? join(stateFolder, 'jobs', 'documents'),
        leaseMs: config.lease_ms,
        maxConnections: config.max_connections,
        log,
        ...shared,
      });
    }
  }
}
