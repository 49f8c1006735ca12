import { revealText } from '@starloom/config';
import type { JobEngine, Log } from '@starloom/core';
import type { GatewayConfig } from '@starloom/gateway/config';
import { openJobs } from '@starloom/jobs';

export interface JobFolders {
  readonly stateFolder?: string | undefined;
  /** Only of a gateway that has the state to itself: one file serves one gateway. */
  readonly planeFolder?: string | undefined;
}

/** Durable jobs as the configuration says; none without a place to keep them. */
export async function openOwnJobs(
  { jobs }: GatewayConfig,
  { stateFolder, planeFolder }: JobFolders,
  log: Log,
): Promise<JobEngine | undefined> {
  if (jobs.kind === 'sqlite') {
    if (planeFolder === undefined) return undefined;
    return openJobs({ kind: jobs.kind }, { stateFolder: planeFolder, log });
  }
  if (stateFolder === undefined) return undefined;
  const place = { kind: jobs.kind, url: revealText(jobs.url), documents: jobs.documents };
  return openJobs(place, { stateFolder, log });
}
