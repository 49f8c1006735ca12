// A job as a task: what it is, what it made so far, and what was said.

import type { Artifact, Task } from '@a2a-js/sdk';
import { ArtifactFold, type CallResult, type JobEvent, type StoredJob } from '@starloom/core';
import type { JobCalls } from '../jobs/job-calls.ts';
import { fromArtifact, toAnswer, toAnswerPiece } from './artifacts.ts';
import { readHistory } from './history.ts';
import { META_CALL } from './names.ts';
import { resultOf } from './read-result.ts';
import { idsOf, toStatus } from './to-status.ts';

export interface TaskView {
  /** At most so many of the last messages. */
  readonly historyLength?: number | undefined;
  readonly artifacts?: boolean;
}

export interface ReadTask {
  readonly task: Task;
  /** What was said of an answer that is not whole yet. */
  readonly said: string;
}

const PAGE = 1_000;
/** Of a task that still runs; more than any reader of a snapshot needs. */
const MOST_EVENTS = 20_000;

export async function readTask(
  job: StoredJob,
  jobs: JobCalls,
  { historyLength, artifacts = true }: TaskView = {},
): Promise<ReadTask> {
  const wantsHistory = historyLength === undefined || historyLength > 0;
  const isWhole = job.state === 'succeeded';
  const events = !wantsHistory && (isWhole || !artifacts) ? [] : await readEvents(job, jobs);
  const folded = fold(events);
  const { id, contextId } = idsOf(job);
  const { agent_id: agentId, capability, trace, progress } = job;
  const task: Task = {
    id,
    contextId,
    status: toStatus(job),
    artifacts: artifacts ? (isWhole ? artifactsOf(resultOf(job)) : folded.artifacts) : [],
    history: wantsHistory
      ? (await readHistory(job, events, jobs)).slice(-(historyLength ?? 0))
      : [],
    metadata: {
      [META_CALL]: { agentId, capability, traceId: trace.trace_id, ...(progress && { progress }) },
    },
  };
  return { task, said: folded.said };
}

async function readEvents(job: StoredJob, { desk }: JobCalls): Promise<readonly JobEvent[]> {
  const events: JobEvent[] = [];
  const until = Math.min(job.cursor, MOST_EVENTS);
  while (events.length < until) {
    const limit = Math.min(PAGE, until - events.length);
    const page = await desk.events(job.principal_id, job.id, { after: events.length, limit });
    if (page.events.length === 0) break;
    events.push(...page.events);
  }
  return events;
}

function artifactsOf(result: CallResult): Artifact[] {
  const answer = toAnswer(result);
  return [...(result.artifacts ?? []).map(fromArtifact), ...(answer ? [answer] : [])];
}

/** What a task that is not over has made; an answer that was discarded does not count. */
function fold(events: readonly JobEvent[]) {
  const made = new ArtifactFold();
  let said = '';
  for (const event of events) {
    if (event.type === 'artifact') made.add(event.data);
    if (event.type === 'token') said += event.data.text;
    if (event.type === 'status' && event.data.state === 'discard') said = '';
  }
  const artifacts = (made.artifacts() ?? []).map(fromArtifact);
  return { said, artifacts: said === '' ? artifacts : [...artifacts, toAnswerPiece(said)] };
}
