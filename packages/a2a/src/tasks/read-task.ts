// A job as a task: what it is, what it made so far, and what was said.

import {
  type Artifact,
  type ListTasksRequest,
  type ListTasksResponse,
  Message,
  type Task,
  TaskState,
} from '@a2a-js/sdk';
import {
  ArtifactFold,
  type CallResult,
  FabricError,
  type Job,
  type JobEvent,
  type StoredJob,
} from '@starloom/core';
import { META_CALL } from '../names.ts';
import { agentMessage, fromArtifact, textPart, toAnswer, toAnswerPiece } from '../parts.ts';
import type { TaskJobs, TaskOwner } from './task-jobs.ts';
import { askedStatus, changeNotes, idsOf, resultOf, stateOf, toStatus } from './to-status.ts';

interface TaskView {
  /** At most so many of the last messages. */
  readonly historyLength?: number | undefined;
  readonly artifacts?: boolean;
}

interface ReadTask {
  readonly task: Task;
  /** What was said of an answer that is not whole yet. */
  readonly said: string;
}

const PAGE = 1_000;
/** Of a task that still runs; more than any reader of a snapshot needs. */
const MAX_EVENTS = 20_000;

export async function readTask(
  job: StoredJob,
  jobs: TaskJobs,
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

async function readEvents(job: StoredJob, { desk }: TaskJobs): Promise<readonly JobEvent[]> {
  const events: JobEvent[] = [];
  const until = Math.min(job.cursor, MAX_EVENTS);
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

// What was said in a task, in order: the message that began it, the agent's questions, the answers that
// came as messages, and what the agent answered in the end. Answers are kept with the job, with a bound.

interface KeptAnswer {
  /** Number of the event that it follows. */
  readonly after: number;
  readonly message: unknown;
}

interface Said {
  readonly at: number;
  readonly message: Message;
}

const ANSWERS = 'a2a_answers';
const MAX_ANSWERS = 50;
/** Of all answers as JSON; the oldest are dropped first. */
const MAX_LENGTH = 256 * 1024;

async function readHistory(
  job: StoredJob,
  events: readonly JobEvent[],
  jobs: TaskJobs,
): Promise<Message[]> {
  const source = await jobs.sourceOf(job);
  const said = [...questionsOf(job, events), ...answersOf(job).map(toReply)];
  said.sort((a, b) => a.at - b.at);
  const all = [
    ...(source === undefined ? [] : [Message.fromJSON(source)]),
    ...said.map(({ message }) => message),
    ...finalAnswerOf(job),
  ];
  return all.map((message) => ({ ...message, taskId: job.id }));
}

/** Keeps the answer, and gives it to the job; an answer that the job does not take is not kept. */
export async function answerWith(
  message: Message,
  job: Job,
  { engine }: TaskJobs,
  answer: () => Promise<StoredJob>,
): Promise<StoredJob> {
  const { contextId } = idsOf(job);
  const kept: KeptAnswer = {
    after: job.cursor,
    message: Message.toJSON({ ...message, contextId }),
  };
  await changeNotes<KeptAnswer>(engine, job.id, ANSWERS, (answers) =>
    newestAnswers([...answers, kept]),
  );
  try {
    return await answer();
  } catch (error) {
    const text = JSON.stringify(kept);
    await changeNotes<KeptAnswer>(engine, job.id, ANSWERS, (answers) =>
      answers.filter((other) => JSON.stringify(other) !== text),
    );
    throw error;
  }
}

function questionsOf(job: Job, events: readonly JobEvent[]): Said[] {
  const ids = idsOf(job);
  return events.flatMap((event, index) => {
    if (event.type !== 'status' || event.data.state !== 'awaiting_input') return [];
    const at = index + 1;
    const { message } = askedStatus(ids, event.data.inputs ?? [], at, event.at);
    return message ? { at, message } : [];
  });
}

function finalAnswerOf(job: StoredJob): Message[] {
  if (job.state !== 'succeeded') return [];
  const { answer } = resultOf(job);
  if (answer === '') return [];
  return [agentMessage(idsOf(job), `${job.id}-answer`, [textPart(answer)])];
}

/** After the question it answers. */
function toReply({ after, message }: KeptAnswer): Said {
  return { at: after + 0.5, message: Message.fromJSON(message) };
}

function answersOf({ notes }: Job): readonly KeptAnswer[] {
  return (notes?.[ANSWERS] as readonly KeptAnswer[] | undefined) ?? [];
}

function newestAnswers(answers: readonly KeptAnswer[]): readonly KeptAnswer[] {
  let length = 0;
  const newest = answers.toReversed().filter((answer) => {
    length += JSON.stringify(answer).length;
    return length <= MAX_LENGTH;
  });
  return newest.slice(0, MAX_ANSWERS).toReversed();
}

// The caller's tasks, most recently changed first. Jobs are kept in the order of their creation, so the
// newest of them are read and sorted here.

const DEFAULT_PAGE = 50;
const MAX_PAGE = 100;
/** So many of a caller's newest jobs are looked at. */
const MAX_JOBS = 5_000;
const READ_AT_ONCE = 250;

type Filter = Pick<ListTasksRequest, 'contextId' | 'status' | 'statusTimestampAfter'>;

export async function listTasks(
  request: ListTasksRequest,
  principal: TaskOwner,
  agentId: string | undefined,
  jobs: TaskJobs,
): Promise<ListTasksResponse> {
  const { pageSize = DEFAULT_PAGE, pageToken, historyLength = 0, includeArtifacts } = request;
  assertRequest(request, pageSize, historyLength);
  const after = pageToken === '' ? undefined : fromToken(pageToken);
  const found: Job[] = [];
  const fits = toFilter(request);
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
  principal: TaskOwner,
  agentId: string | undefined,
  jobs: TaskJobs,
): AsyncGenerator<Job, void> {
  let cursor: string | undefined;
  for (let read = 0; read < MAX_JOBS; read += READ_AT_ONCE) {
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

function toFilter({ contextId, status, statusTimestampAfter }: Filter) {
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
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE) {
    throw bad('pageSize', `must be 1 to ${MAX_PAGE}`);
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
