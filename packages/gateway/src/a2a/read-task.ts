// A job as a task: what it is, what it made so far, and what was said.

import { type Artifact, Message, type Task } from '@a2a-js/sdk';
import {
  ArtifactFold,
  type CallResult,
  FabricError,
  type JobEvent,
  type StoredJob,
} from '@starloom/core';
import type { JobCalls } from '../jobs/job-calls.ts';
import { fromArtifact, toAnswer, toAnswerPiece } from './artifacts.ts';
import { META_CALL } from './names.ts';
import { askedStatus, idsOf, toStatus } from './to-status.ts';

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

/** What a job that succeeded answered. */
export function resultOf({ result }: StoredJob): CallResult {
  const { result: answered } = (result ?? {}) as { readonly result?: CallResult };
  if (answered) return answered;
  throw new FabricError('INTERNAL', 'The job has no result');
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

/** What began the task, and what the agent asked since. */
async function readHistory(
  job: StoredJob,
  events: readonly JobEvent[],
  jobs: JobCalls,
): Promise<Message[]> {
  const source = await jobs.sourceOf(job);
  const ids = idsOf(job);
  const first = source === undefined ? [] : [{ ...Message.fromJSON(source), taskId: job.id }];
  const asked = events.flatMap((event, at) => {
    if (event.type !== 'status' || event.data.state !== 'awaiting_input') return [];
    return askedStatus(ids, event.data.inputs ?? [], at + 1, event.at).message ?? [];
  });
  return [...first, ...asked];
}
