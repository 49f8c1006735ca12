// Every change of a job's state, as pure functions. The engines store what comes out and add nothing,
// so that all of them agree. A job ends exactly once: a final record has no transition left.

import {
  type Asked,
  backoffMs,
  type ClaimMode,
  FabricError,
  type FinalJobState,
  isFinal,
  type Job,
  type JobAnswer,
  type JobError,
  type JobErrorEvent,
  type JobEvent,
  type JobNote,
  type NewJob,
  type UpstreamHandle,
} from '@starloom/core';
import { failure } from './reasons.ts';

/** So long does an idempotency key stand for its first call. */
export const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;
/** So long may a question of a job stay open. */
export const INPUT_MS = 24 * 60 * 60 * 1000;
/** Priorities are whole numbers from `-MAX_PRIORITY` to `MAX_PRIORITY`; higher ones run first. */
export const MAX_PRIORITY = 1000;

const DEFAULT_RETRY = { attempts: 3, backoff_ms: 1_000, max_backoff_ms: 60_000 };

export function createJob(input: NewJob, id: string, now: number): Job {
  const { priority = 0, runAt, deadlineMs } = input;
  const ownDeadline = deadlineMs === undefined ? undefined : Math.max(now, runAt ?? 0) + deadlineMs;
  const { deadlineAt = ownDeadline } = input;
  if (!Number.isInteger(priority) || Math.abs(priority) > MAX_PRIORITY) {
    throw failure('bad_priority', { limit: MAX_PRIORITY });
  }
  return {
    id,
    principal_id: input.principalId,
    state: 'queued',
    capability: input.capability,
    ...(input.agentId !== undefined && { agent_id: input.agentId }),
    trace: input.trace,
    idempotent: input.idempotent ?? false,
    timeout_ms: input.timeoutMs,
    ...(deadlineAt !== undefined && { deadline_at: deadlineAt }),
    ...(runAt !== undefined && { run_at: runAt }),
    priority,
    retry: { ...DEFAULT_RETRY, ...input.retry },
    ...(input.webhook !== undefined && { webhook: input.webhook }),
    ...(input.retryOf !== undefined && { retry_of: input.retryOf }),
    ...(input.idempotencyKey !== undefined && { idempotency_key: input.idempotencyKey }),
    ...(input.labels !== undefined && { labels: input.labels }),
    created_at: now,
    updated_at: now,
    attempt: 0,
    sent: false,
    cursor: 0,
    seq: 0,
  };
}

/** `undefined` for a job that is over: there is nothing left to claim. */
export function modeOf(job: Job, now: number): ClaimMode | undefined {
  if (isFinal(job.state)) return undefined;
  if (job.cancel !== undefined) return 'cancel';
  if (job.parked) return 'interrupted';
  if (job.state === 'awaiting_input') return 'unanswered';
  if (job.deadline_at !== undefined && job.deadline_at <= now) return 'late';
  if (job.handle !== undefined) return 'rejoin';
  if (!job.sent) return 'start';
  return job.idempotent ? 'repeat' : 'interrupted';
}

export function claimJob(job: Job, mode: ClaimMode, now: number): Job {
  const isAttempt = mode === 'start' || mode === 'repeat';
  const runs = isAttempt || mode === 'rejoin';
  return {
    ...job,
    updated_at: now,
    ...(runs && { state: 'running' as const }),
    ...(isAttempt && { attempt: job.attempt + 1, sent: false }),
  };
}

/** Answers that the worker holds in memory by now count as used: no other worker may use them. */
export function markJobSent(job: Job, now: number): Job {
  const { answers: _, ...rest } = job;
  return { ...rest, sent: true, updated_at: now };
}

export function withHandle(job: Job, handle: UpstreamHandle, now: number): Job {
  return { ...job, handle, updated_at: now };
}

/** What a job's record takes over from one of its events. */
export interface EventMark {
  readonly seq: number;
  readonly type: JobEvent['type'];
  readonly progress?: Job['progress'];
}

export function toEventMark(event: JobEvent): EventMark {
  const { seq, type } = event;
  return type === 'progress'
    ? { seq, type, progress: event.data as Job['progress'] }
    : { seq, type };
}

/** Throws unless the events continue the stream without a gap. */
export function appendEvents(job: Job, events: readonly EventMark[], now: number): Job {
  let { seq, progress } = job;
  for (const event of events) {
    if (event.seq !== seq + 1) throw eventGap(job, seq, event.seq);
    seq = event.seq;
    progress = event.progress ?? progress;
  }
  return {
    ...job,
    seq,
    cursor: job.cursor + events.length,
    ...(progress !== undefined && { progress }),
    updated_at: now,
  };
}

export function askQuestions(job: Job, { inputs, expiresAt, handle }: Asked, now: number): Job {
  const { answers: _, parked: __, ...rest } = job;
  return {
    ...rest,
    state: 'awaiting_input',
    sent: true,
    // The question ends a leg of the stream; whatever comes next begins another.
    seq: 0,
    inputs,
    input_expires_at: expiresAt,
    ...(handle === undefined ? { parked: true } : { handle }),
    updated_at: now,
  };
}

/** BAD_INPUT unless every answer belongs to an open question. The job goes on when all are there. */
export function answerQuestions(job: Job, answers: readonly JobAnswer[], now: number): Job {
  const open = new Set(job.state === 'awaiting_input' ? job.inputs?.map(({ id }) => id) : []);
  const given = new Map(job.answers?.map((answer) => [answer.id, answer]));
  if (answers.length === 0) throw noOpenQuestion(job, undefined);
  for (const answer of answers) {
    if (!open.has(answer.id) || given.has(answer.id)) throw noOpenQuestion(job, answer.id);
    given.set(answer.id, answer);
  }
  const all = [...given.values()];
  if (all.length < open.size) return { ...job, answers: all, updated_at: now };
  const { inputs: _, input_expires_at: __, ...rest } = job;
  return {
    ...rest,
    state: job.parked ? 'running' : 'queued',
    answers: all,
    updated_at: now,
  };
}

/** The worker that kept the attempt waiting goes on with it; the answers count as used. */
export function resumeJob(job: Job, now: number): Job {
  const { parked: _, answers: __, ...rest } = job;
  return { ...rest, updated_at: now };
}

export interface Cancelled {
  readonly job: Job;
  /** The job ended at once; the event that ends its stream. */
  readonly event?: JobErrorEvent;
}

/** Ends a job that no agent works on; notes the wish for one that runs. A final job stays. */
export function cancelJob(job: Job, now: number): Cancelled {
  if (isFinal(job.state) || job.cancel !== undefined) return { job };
  const isIdle = job.state === 'queued' || (job.state === 'awaiting_input' && !job.parked);
  const requested = { ...job, cancel: { requested_at: now }, updated_at: now };
  if (!isIdle || job.handle !== undefined) return { job: requested };
  const { code, message, details } = failure('cancelled/unbegun');
  const error = { code, message, details };
  return endJob(requested, { state: 'cancelled', error }, now);
}

export function markCancelDelivered(job: Job, now: number): Job {
  const requested_at = job.cancel?.requested_at ?? now;
  return { ...job, cancel: { requested_at, delivered_at: now }, updated_at: now };
}

export function requeueJob(job: Job, now: number): Job {
  const { handle: _, ...rest } = job;
  return { ...rest, state: 'queued', sent: false, updated_at: now };
}

/** `undefined` when the note is not as it was expected. */
export function setNote(job: Job, { name, was, value }: JobNote): Job | undefined {
  const { notes: { [name]: before, ...others } = {}, ...rest } = job;
  if (JSON.stringify(before) !== JSON.stringify(was)) return undefined;
  const notes = value === undefined ? others : { ...others, [name]: value };
  return Object.keys(notes).length === 0 ? rest : { ...rest, notes };
}

export interface JobEnd {
  readonly state: FinalJobState;
  readonly error?: JobError;
}

/** The end, after the events that lead to it; the last of those is the final event or the error. */
export function finishJob(
  job: Job,
  outcome: JobEnd,
  events: readonly EventMark[],
  now: number,
): Job {
  const { inputs: _, answers: __, input_expires_at: ___, parked: ____, ...rest } = job;
  const last = events.at(-1);
  const expected = outcome.state === 'succeeded' ? 'final' : 'error';
  if (last?.type !== expected) {
    throw new FabricError('INTERNAL', `A job that ${outcome.state} must end with its ${expected}`, {
      details: { job_id: job.id, last: last?.type ?? null },
    });
  }
  const ended = appendEvents(rest, events, now);
  const { progress } = ended;
  const isDone = outcome.state === 'succeeded' && progress !== undefined;
  return {
    ...ended,
    ...(isDone && { progress: { ...progress, percent: 100 } }),
    state: outcome.state,
    finished_at: now,
    ...(outcome.error !== undefined && { error: outcome.error }),
  };
}

export function errorEvent(job: Job, error: JobError, now: number): JobErrorEvent {
  return {
    type: 'error',
    seq: job.seq + 1,
    at: new Date(now).toISOString(),
    trace: job.trace,
    ...(job.agent_id !== undefined && { agent_id: job.agent_id }),
    error,
  };
}

/** How long until the next attempt: twice as long after each failed one, with some spread. */
export function retryDelayMs({ retry, attempt }: Job, random: number): number {
  const { backoff_ms: firstMs, max_backoff_ms: longestMs } = retry;
  return backoffMs({ firstMs, longestMs, tries: attempt, jitter: 1 + random });
}

function endJob(job: Job, outcome: Required<JobEnd>, now: number): Cancelled {
  const event = errorEvent(job, outcome.error, now);
  return { job: finishJob(job, outcome, [event], now), event };
}

function eventGap(job: Job, last: number, seq: number): FabricError {
  return new FabricError('INTERNAL', `Event ${seq} does not follow event ${last} of the job`, {
    details: { job_id: job.id, seq, last },
  });
}

function noOpenQuestion({ id, state }: Job, input_id: string | undefined): FabricError {
  return failure('no_open_question', { job_id: id, state, input_id });
}
