// The states of a job in those of a task, with what is to be said about them.

import { TaskState, type TaskStatus } from '@a2a-js/sdk';
import {
  type CallResult,
  ERROR_META_KEY,
  FabricError,
  type InputRequest,
  type JobError,
  type JobRecords,
  openInputs,
  type StoredJob,
} from '@starloom/core';
import { jobNotFound } from '@starloom/jobs';
import { LABEL_CONTEXT } from '../names.ts';
import { agentMessage, dataPart, textPart } from '../parts.ts';
import { failure } from '../reasons.ts';

const STATES = {
  queued: TaskState.TASK_STATE_SUBMITTED,
  running: TaskState.TASK_STATE_WORKING,
  awaiting_input: TaskState.TASK_STATE_INPUT_REQUIRED,
  succeeded: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  cancelled: TaskState.TASK_STATE_CANCELED,
} as const satisfies Record<StoredJob['state'], TaskState>;

export interface TaskIds {
  readonly id: string;
  readonly contextId: string;
}

/** A job of another face is a context of its own. */
export function idsOf({ id, labels }: Pick<StoredJob, 'id' | 'labels'>): TaskIds {
  return { id, contextId: labels?.[LABEL_CONTEXT] ?? id };
}

export function stateOf(job: StoredJob): TaskState {
  if (job.state === 'failed' && job.error) return failedState(job.error);
  if (job.state !== 'awaiting_input') return STATES[job.state];
  return askedState(openInputs(job) as unknown as InputRequest[]);
}

export function toStatus(job: StoredJob): TaskStatus {
  const ids = idsOf(job);
  const timestamp = new Date(job.updated_at).toISOString();
  const { state, error } = job;
  if (state === 'awaiting_input') {
    const inputs = openInputs(job) as unknown as InputRequest[];
    return askedStatus(ids, inputs, job.cursor, timestamp);
  }
  if (error && state === 'failed') return failedStatus(ids, error, timestamp);
  return plainStatus(stateOf(job), timestamp);
}

export function plainStatus(state: TaskState, timestamp: string): TaskStatus {
  return { state, message: undefined, timestamp };
}

/** Its text is for people, its data for programs. */
export function askedStatus(
  ids: TaskIds,
  inputs: readonly InputRequest[],
  number: number,
  timestamp: string,
): TaskStatus {
  const questions = inputs.map(({ native: _, ...input }) => input);
  const text = inputs.map(({ message, url }) => (url ? `${message}\n${url}` : message)).join('\n');
  const message = agentMessage(ids, `${ids.id}-${number}`, [
    textPart(text),
    dataPart({ inputs: questions }),
  ]);
  return { state: askedState(inputs), message, timestamp };
}

export function failedStatus(ids: TaskIds, error: JobError, timestamp: string): TaskStatus {
  const { upstream } = error.details;
  const said = typeof upstream === 'string' ? `${error.message}: ${upstream}` : error.message;
  const message = agentMessage(ids, `${ids.id}-error`, [textPart(said)]);
  const { answer: _, ...details } = error.details;
  const metadata = { [ERROR_META_KEY]: { ...error, details } };
  return { state: failedState(error), message: { ...message, metadata }, timestamp };
}

export function isAuth(inputs: readonly InputRequest[]): boolean {
  return inputs.length > 0 && inputs.every(({ kind }) => kind === 'auth');
}

function askedState(inputs: readonly InputRequest[]): TaskState {
  return isAuth(inputs) ? TaskState.TASK_STATE_AUTH_REQUIRED : TaskState.TASK_STATE_INPUT_REQUIRED;
}

/** What was refused before an agent did anything is rejected; the rest has failed. */
function failedState({ code }: JobError): TaskState {
  if (code === 'CANCELLED') return TaskState.TASK_STATE_CANCELED;
  const isRefused = code === 'BAD_INPUT' || code === 'POLICY_DENIED';
  return isRefused ? TaskState.TASK_STATE_REJECTED : TaskState.TASK_STATE_FAILED;
}

/** What a job that succeeded answered. */
export function resultOf({ result }: StoredJob): CallResult {
  const { result: answered } = (result ?? {}) as { readonly result?: CallResult };
  if (answered) return answered;
  throw new FabricError('INTERNAL', 'The job has no result');
}

const MAX_TRIES = 20;

/** Changes a list that is kept with a job, even while another gateway changes it. */
export async function changeNotes<Note>(
  records: Pick<JobRecords, 'get' | 'note'>,
  id: string,
  name: string,
  change: (before: readonly Note[]) => readonly Note[],
): Promise<void> {
  for (let left = MAX_TRIES; left > 0; left -= 1) {
    const job = await records.get(id);
    if (job === undefined) throw jobNotFound(id);
    const was = job.notes?.[name] as readonly Note[] | undefined;
    const changed = change(was ?? []);
    const value = changed.length === 0 ? undefined : changed;
    if (await records.note(id, { name, was, value })) return;
  }
  throw failure('engine_busy');
}
