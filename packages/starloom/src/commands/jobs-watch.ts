import { setTimeout as delay } from 'node:timers/promises';
import { FabricError, type FabricEvent } from '@starloom/core';
import type { JobDocument } from '@starloom/jobs';
import { connectToGateway } from '../gateway-client.ts';
import { toSafeJson } from '../plain-text.ts';
import { GATEWAY_UNREACHABLE } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import type { JobsWatchOptions } from './jobs.ts';
import { answerOf, failureLines } from './jobs-run.ts';

const RECONNECT_MS = 250;
/** A connection that carries nothing for so long may be dead: the stream is asked for again. */
const IDLE_MS = 15_000;
const BAR = 24;

/**
 * Follows a job to its end. A person sees a bar and the result; without a terminal, or with --json, the
 * events are lines of JSON and the job is the last one.
 */
export async function watchJob(
  terminal: Terminal,
  job_id: string,
  { after, json }: JobsWatchOptions,
): Promise<void> {
  const progress = json || !terminal.isWatched ? undefined : terminal.showStatus;
  let cursor = after;
  const onEvent = (event: FabricEvent, at = cursor + 1) => {
    cursor = at;
    if (progress === undefined) terminal.print(toSafeJson({ ...event, cursor }));
    else progress(toLine(event));
  };
  const job = await follow(terminal, job_id, () => cursor, onEvent);
  if (progress === undefined) terminal.print(toSafeJson({ job }));
  else {
    progress('');
    const answer = answerOf(job);
    if (answer !== undefined) terminal.print(answer);
  }
  terminal.tell([`the job ${toWords(job.state)}`, ...failureLines(job)].join('\n  '));
  if (job.error !== undefined) terminal.exitCode = new FabricError(job.error.code, '').row.exit;
}

/** Over any number of connections, as long as the job is known. */
async function follow(
  terminal: Terminal,
  job_id: string,
  cursor: () => number,
  onEvent: (event: FabricEvent, at?: number) => void,
): Promise<JobDocument> {
  let isAway = false;
  for (;;) {
    try {
      await using client = await connectToGateway(terminal);
      isAway = false;
      const options = { onEvent, timeoutMs: IDLE_MS, isIdleTimeout: true };
      const { job } = await client.call('fabric.job.stream', { job_id, after: cursor() }, options);
      return job;
    } catch (error) {
      const isUnreachable = FabricError.is(error) && error.details.reason === GATEWAY_UNREACHABLE;
      if (FabricError.is(error) && !isUnreachable) throw error;
      if (isUnreachable && !isAway) terminal.tell('(the gateway cannot be reached; trying again)');
      isAway = isUnreachable;
      await delay(RECONNECT_MS);
    }
  }
}

function toLine(event: FabricEvent): string {
  if (event.type !== 'progress') {
    return event.type === 'status' ? (event.data.message ?? event.data.state) : event.type;
  }
  const { percent, message = '' } = event.data;
  if (percent === undefined) return message;
  const full = Math.round((percent / 100) * BAR);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${Math.round(percent)} % ${message}`;
}

function toWords(state: JobDocument['state']): string {
  return state === 'cancelled' ? 'was cancelled' : state;
}
