import type { JobEngine, Log } from '@starloom/core';
import type { GatewayConfig } from '@starloom/gateway/config';
import { openJobs } from '@starloom/jobs';
import { revealText } from '@starloom/wire/config';

/** Durable jobs as the configuration says; none without a folder to keep them in. */
export async function openOwnJobs(
  { jobs }: GatewayConfig,
  stateFolder: string | undefined,
  log: Log,
): Promise<JobEngine | undefined> {
  if (stateFolder === undefined) return undefined;
  const place =
    jobs.kind === 'postgres'
      ? { kind: jobs.kind, url: revealText(jobs.url), documents: jobs.documents }
      : { kind: jobs.kind };
  return openJobs(place, { stateFolder, log });
}
