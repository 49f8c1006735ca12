// The caller's tasks, most recently changed first. Jobs are kept in the order of their creation, so the
// newest of them are read and sorted here.

import { type ListTasksRequest, type ListTasksResponse, TaskState } from '@a2a-js/sdk';
import { FabricError, type Job } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { JobCalls } from '../jobs/job-calls.ts';
import { readTask } from './read-task.ts';
import { idsOf, stateOf } from './to-status.ts';

const DEFAULT_PAGE = 50;
const LARGEST_PAGE = 100;
/** So many of a caller's newest jobs are looked at. */
const MOST_JOBS = 5_000;
const READ_AT_ONCE = 250;

type Filter = Pick<ListTasksRequest, 'contextId' | 'status' | 'statusTimestampAfter'>;

export async function listTasks(
  request: ListTasksRequest,
  principal: Principal,
  agentId: string | undefined,
  jobs: JobCalls,
): Promise<ListTasksResponse> {
  const { pageSize = DEFAULT_PAGE, pageToken, historyLength = 0, includeArtifacts } = request;
  assertRequest(request, pageSize, historyLength);
  const after = pageToken === '' ? undefined : fromToken(pageToken);
  const found: Job[] = [];
  const fits = matching(request);
  for await (const job of newestJobs(principal, agentId, jobs)) if (fits(job)) found.push(job);
  found.sort((a, b) => compare(positionOf(a), positionOf(b)));
  const rest = after ? found.filter((job) => compare(positionOf(job), after) > 0) : found;
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  const view = { historyLength, artifacts: includeArtifacts === true };
  const tasks = [];
  for (const { id } of page) {
    const job = await jobs.desk.status(principal.id, id);
    tasks.push((await readTask(job, jobs, view)).task);
  }
  return {
    tasks,
    nextPageToken: last && rest.length > page.length ? toToken(positionOf(last)) : '',
    pageSize,
    totalSize: found.length,
  };
}

/** The newest jobs of one agent, or of all that the caller may use. */
export async function* newestJobs(
  principal: Principal,
  agentId: string | undefined,
  jobs: JobCalls,
): AsyncGenerator<Job, void> {
  let cursor: string | undefined;
  for (let read = 0; read < MOST_JOBS; read += READ_AT_ONCE) {
    const page = await jobs.desk.list({
      principalId: principal.id,
      limit: READ_AT_ONCE,
      ...(cursor !== undefined && { cursor }),
    });
    for (const job of page.jobs) {
      const isAsked = agentId === undefined || job.agent_id === agentId;
      if (isAsked && jobs.maySee(principal, job)) yield job;
    }
    cursor = page.next;
    if (cursor === undefined) return;
  }
}

function matching({ contextId, status, statusTimestampAfter }: Filter) {
  const after = statusTimestampAfter === undefined ? undefined : Date.parse(statusTimestampAfter);
  return (job: Job) =>
    (contextId === '' || idsOf(job).contextId === contextId) &&
    (status === TaskState.TASK_STATE_UNSPECIFIED || stateOf(job) === status) &&
    (after === undefined || job.updated_at > after);
}

function assertRequest(
  { status, statusTimestampAfter }: ListTasksRequest,
  pageSize: number,
  historyLength: number,
): void {
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > LARGEST_PAGE) {
    throw bad('pageSize', `must be 1 to ${LARGEST_PAGE}`);
  }
  assertHistoryLength(historyLength);
  if (status === TaskState.UNRECOGNIZED) throw bad('status', 'is not a state of a task');
  if (statusTimestampAfter !== undefined && Number.isNaN(Date.parse(statusTimestampAfter))) {
    throw bad('statusTimestampAfter', 'is not a time');
  }
}

export function assertHistoryLength(historyLength: number | undefined): void {
  if (historyLength === undefined || (Number.isInteger(historyLength) && historyLength >= 0))
    return;
  throw bad('historyLength', 'must be a whole number, not negative');
}

interface Position {
  readonly at: number;
  readonly id: string;
}

function positionOf({ updated_at: at, id }: Job): Position {
  return { at, id };
}

function compare(a: Position, b: Position): number {
  return b.at - a.at || (a.id < b.id ? -1 : Number(a.id > b.id));
}

function toToken({ at, id }: Position): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

function fromToken(token: string): Position {
  const [at = '', id = ''] = Buffer.from(token, 'base64url').toString('utf8').split(' ');
  if (!/^\d{1,15}$/.test(at) || id === '') throw bad('pageToken', 'is not one that a page gave');
  return { at: Number(at), id };
}

function bad(field: string, problem: string): FabricError {
  return new FabricError('BAD_INPUT', `${field} ${problem}`, {
    details: { reason: 'arguments', field },
  });
}
