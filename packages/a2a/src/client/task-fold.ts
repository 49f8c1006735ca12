// What an agent has said of one task: where the task stands, and the events that each item amounts
// to. The first final state counts; what comes after it is not read.

import {
  type Message,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
} from '@a2a-js/sdk';
import {
  ERROR_META_KEY,
  type EventBody,
  eventBodySchema,
  exceedsDepth,
  type FinalData,
  fromErrorPayload,
  toFields,
} from '@starloom/core';
import { cleanText, type Excerpt } from '@starloom/wire';
import { META_EVENT } from '../names.ts';
import { failure } from '../reasons.ts';
import { ArtifactSlots, filesOf } from './artifact-slots.ts';

const MAX_PROGRESS = 2_000;
const MAX_ID_LENGTH = 1_024;

const ENDS: ReadonlySet<TaskState> = new Set([
  TaskState.TASK_STATE_COMPLETED,
  TaskState.TASK_STATE_FAILED,
  TaskState.TASK_STATE_CANCELED,
  TaskState.TASK_STATE_REJECTED,
]);

const QUESTIONS: ReadonlySet<TaskState> = new Set([
  TaskState.TASK_STATE_INPUT_REQUIRED,
  TaskState.TASK_STATE_AUTH_REQUIRED,
]);

interface TaskFoldOptions {
  readonly maxBytes: number;
  readonly taskId?: string | undefined;
  readonly contextId?: string | undefined;
  /** Whether updates do not say if they append: then it is taken that they do. */
  readonly guessesAppend?: boolean;
}

export class TaskFold {
  taskId: string | undefined;
  contextId: string | undefined;
  status: TaskStatus | undefined;
  /** A message that is the whole answer, without a task. */
  reply: Message | undefined;
  readonly #artifacts = new ArtifactSlots();
  readonly #maxBytes: number;
  readonly #guessesAppend: boolean;
  #isGuessed = false;
  #bytes = 0;
  #lastSaid: Message | undefined;
  #answered: string | undefined;
  #seen: string | undefined;

  constructor({ maxBytes, taskId, contextId, guessesAppend = false }: TaskFoldOptions) {
    this.#maxBytes = maxBytes;
    this.#guessesAppend = guessesAppend;
    this.taskId = taskId;
    this.contextId = contextId;
  }

  /**
   * The task itself must be looked at before its end is believed: updates did not say whether they
   * append, or brought no answer at all, which some agents keep in the history of the task.
   */
  get isIncomplete(): boolean {
    if (this.#isGuessed) return true;
    if (this.status?.state !== TaskState.TASK_STATE_COMPLETED) return false;
    const { answer, data } = this.final();
    return answer === '' && data === undefined && this.#bytes === 0;
  }

  /** The agent ended the task, or waits for an answer. */
  get isSettled(): boolean {
    return this.reply !== undefined || this.isEnded || this.isAsking;
  }

  get isEnded(): boolean {
    return this.status !== undefined && ENDS.has(this.status.state);
  }

  get isAsking(): boolean {
    return this.status !== undefined && QUESTIONS.has(this.status.state);
  }

  /** Names the open question, where the agent gives it a time or an id. */
  get question(): string | undefined {
    const { timestamp, message } = this.status ?? {};
    return timestamp || message?.messageId ? keyOf(this.status) : undefined;
  }

  /** The agent works again, though its task may still show the question. */
  noteAnswered(question: string | undefined): void {
    this.#answered = question;
    this.status = undefined;
  }

  /** Items without a known payload are passed over. */
  *add({ payload }: StreamResponse): Generator<EventBody> {
    switch (payload?.$case) {
      case 'task':
        return yield* this.#task(payload.value);
      case 'message':
        return yield* this.#message(payload.value);
      case 'statusUpdate': {
        const { taskId, contextId, status, metadata } = payload.value;
        this.#name(taskId, contextId);
        const own = ownEvent(metadata);
        if (own) yield own;
        if (status) yield* this.#update(status, own === undefined);
        return;
      }
      case 'artifactUpdate': {
        const { taskId, contextId, artifact, append, lastChunk } = payload.value;
        this.#name(taskId, contextId);
        if (!artifact) return;
        const isGuess = this.#guessesAppend && this.#artifacts.has(artifact);
        if (isGuess) this.#isGuessed = true;
        const update = this.#artifacts.update(artifact, append || isGuess, lastChunk);
        return yield* this.#count(update);
      }
    }
  }

  *#task(task: Task): Generator<EventBody> {
    if (task.id === '') throw failure('bad_answer/a2a', { problem: 'a task without an id' });
    this.#name(task.id, task.contextId);
    for (const artifact of task.artifacts) {
      yield* this.#count(this.#artifacts.replace(artifact));
    }
    this.#lastSaid =
      task.history.findLast(({ role }) => role === Role.ROLE_AGENT) ?? this.#lastSaid;
    if (task.status && keyOf(task.status) !== this.#answered)
      yield* this.#update(task.status, true);
  }

  *#message(message: Message): Generator<EventBody> {
    if (message.contextId !== '') this.contextId = message.contextId;
    this.reply = message;
    yield* this.#count(filesOf(message.parts, message.messageId));
  }

  *#update(status: TaskStatus, isTold: boolean): Generator<EventBody> {
    const key = keyOf(status);
    const isNew = key !== this.#seen;
    this.#seen = key;
    this.status = status;
    const { message, state } = status;
    if (!message || !isNew) return;
    if (ENDS.has(state)) yield* this.#count(filesOf(message.parts, message.messageId));
    if (state !== TaskState.TASK_STATE_WORKING || !isTold) return;
    const said = cleanText(textOf(message), MAX_PROGRESS);
    if (said) yield { type: 'progress', data: { message: said } };
  }

  /** What a completed task, or a message in its place, amounts to. */
  final(): FinalData {
    const last = this.reply ?? this.status?.message;
    const answer = textOf(last) || this.#artifacts.text() || textOf(this.#lastSaid);
    const values = [...dataOf(last), ...this.#artifacts.data()];
    if (exceedsDepth(values))
      throw failure('bad_answer/a2a', { problem: 'data that is nested too deep' });
    const data = values.length > 1 ? values : values[0];
    return { answer, ...(data !== undefined && { data }) };
  }

  #name(taskId: string, contextId: string): void {
    if (taskId.length > MAX_ID_LENGTH || contextId.length > MAX_ID_LENGTH) {
      throw failure('bad_answer/a2a', { problem: 'an id that is too long' });
    }
    if (taskId !== '') {
      if (this.taskId !== undefined && this.taskId !== taskId) throw failure('wrong_task');
      this.taskId = taskId;
    }
    if (contextId !== '') this.contextId = contextId;
  }

  *#count(events: Iterable<EventBody>): Generator<EventBody> {
    for (const event of events) {
      if (event.type === 'artifact') {
        this.#bytes += 64 + (event.data.text ?? event.data.data ?? '').length;
        if (this.#bytes > this.#maxBytes)
          throw failure('stream_too_large', { limit: this.#maxBytes });
      }
      yield event;
    }
  }
}

/** Its text parts, without files that are text. */
export function textOf(message: Message | undefined): string {
  const texts = (message?.parts ?? []).flatMap(({ content, filename }) =>
    content?.$case === 'text' && filename === '' ? content.value : [],
  );
  return texts.join('\n');
}

function dataOf(message: Message | undefined): unknown[] {
  return (message?.parts ?? []).flatMap(({ content }) =>
    content?.$case === 'data' && content.value !== undefined ? [content.value] : [],
  );
}

/** An event that another Starloom sent along; the end of a call never comes this way. */
function ownEvent(metadata: Record<string, unknown> | undefined): EventBody | undefined {
  const { type, data: carried } = toFields(metadata?.[META_EVENT]);
  const { success, data } = eventBodySchema.safeParse({ type, data: carried });
  if (!success || data.type === 'final' || data.type === 'status') return undefined;
  return exceedsDepth(data) ? undefined : data;
}

function keyOf(status: TaskStatus | undefined): string | undefined {
  const parts = status && [status.state, status.timestamp, status.message?.messageId];
  return parts?.join(' ').slice(0, MAX_ID_LENGTH);
}

const WORDS: Readonly<Partial<Record<TaskState, string>>> = {
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_REJECTED]: 'rejected',
  [TaskState.TASK_STATE_CANCELED]: 'canceled',
};

/** The last event of a task that is over; throws what the agent answered when that is an error. */
export function toOutcome(fold: TaskFold, excerpt: Excerpt): EventBody {
  const state = fold.status?.state;
  const word = fold.reply || state === undefined ? undefined : WORDS[state];
  if (word === undefined) return { type: 'final', data: fold.final() };
  throw toAgentAnswer(word, fold.status, excerpt);
}

/** The agent's own answer: no other agent is asked, no circuit opens. */
function toAgentAnswer(word: string, status: TaskStatus | undefined, excerpt: Excerpt) {
  const message = status?.message;
  const ours = fromErrorPayload(message?.metadata?.[ERROR_META_KEY]);
  if (ours && !ours.isAgentAnswer) return ours;
  const said = excerpt(textOf(message));
  const upstream = said === '' ? 'The agent gave no reason' : said;
  const answer = { isError: true, content: [{ type: 'text', text: upstream }] };
  return failure('tool_error/ended', { state: word, upstream }, { answer });
}
