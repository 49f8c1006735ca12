// The events of a job as the updates of its task, in order. Tokens and the end of an answer are one
// artifact that grows; what A2A has no form for rides in the metadata of a status.

import { type StreamResponse, type TaskArtifactUpdateEvent, TaskState } from '@a2a-js/sdk';
import type { CallResult, FabricEvent, JobEvent } from '@starloom/core';
import { META_EVENT } from '../names.ts';
import { agentMessage, fromArtifact, textPart, toAnswer, toAnswerPiece } from '../parts.ts';
import { askedStatus, failedStatus, plainStatus, type TaskIds } from './to-status.ts';

interface TaskFeedOptions {
  /** What was said of the answer before the first event. */
  readonly said?: string;
  readonly isWorking?: boolean;
  /** Without tokens the answer comes as a whole. */
  readonly tokens?: boolean;
}

export class TaskFeed {
  readonly #ids: TaskIds;
  readonly #tokens: boolean;
  #said: string;
  #isWorking: boolean;

  constructor(ids: TaskIds, options: TaskFeedOptions = {}) {
    this.#ids = ids;
    this.#said = options.said ?? '';
    this.#isWorking = options.isWorking ?? false;
    this.#tokens = options.tokens ?? true;
  }

  /** `result` reads the result of a job that succeeded; its last event does not have all of it. */
  async next(event: JobEvent, result: () => Promise<CallResult>): Promise<StreamResponse[]> {
    if (event.type === 'error') {
      return [this.#status(failedStatus(this.#ids, event.error, event.at))];
    }
    if (event.type === 'final') {
      const completed = plainStatus(TaskState.TASK_STATE_COMPLETED, event.at);
      return [...this.#end(await result()), this.#status(completed)];
    }
    if (event.type === 'status') return this.#statusEvent(event);
    return [...this.#begin(event.at), ...this.#workEvent(event)];
  }

  #statusEvent(event: Extract<FabricEvent, { type: 'status' }>): StreamResponse[] {
    const { state, message, inputs = [] } = event.data;
    switch (state) {
      case 'accepted':
      case 'routed':
        return [];
      case 'started':
        return this.#begin(event.at);
      case 'awaiting_input':
        this.#isWorking = false;
        return [this.#status(askedStatus(this.#ids, inputs, event.seq, event.at))];
      case 'discard':
        this.#said = '';
        return this.#working(event, message ?? 'Another agent answers from the beginning');
      case 'retrying':
      case 'degraded':
        return this.#working(event, message);
    }
  }

  #workEvent(event: Exclude<FabricEvent, { type: 'status' | 'final' }>): StreamResponse[] {
    switch (event.type) {
      case 'token':
        return this.#token(event.data.text);
      case 'artifact': {
        const { append = false, last = false } = event.data;
        return [this.#artifact({ artifact: fromArtifact(event.data), append, lastChunk: last })];
      }
      case 'progress':
      case 'tool_call':
        return this.#working(event, event.type === 'progress' ? event.data.message : undefined);
    }
  }

  #token(text: string): StreamResponse[] {
    if (!this.#tokens || text === '') return [];
    const append = this.#said !== '';
    this.#said += text;
    return [this.#artifact({ artifact: toAnswerPiece(text), append, lastChunk: false })];
  }

  /** The rest of an answer whose beginning was said; all of it when something else was said. */
  #end(result: CallResult): StreamResponse[] {
    const answer = toAnswer(result);
    if (!answer) return [];
    if (this.#said === '' || !result.answer.startsWith(this.#said)) {
      return [this.#artifact({ artifact: answer, append: false, lastChunk: true })];
    }
    const rest = result.answer.slice(this.#said.length);
    const parts = answer.parts.slice(1);
    const left = rest === '' ? parts : [textPart(rest), ...parts];
    if (left.length === 0) return [];
    const artifact = { ...answer, parts: left };
    return [this.#artifact({ artifact, append: true, lastChunk: true })];
  }

  #begin(at: string): StreamResponse[] {
    if (this.#isWorking) return [];
    this.#isWorking = true;
    return [this.#status(plainStatus(TaskState.TASK_STATE_WORKING, at))];
  }

  #working(event: FabricEvent, text: string | undefined): StreamResponse[] {
    this.#isWorking = true;
    const status = plainStatus(TaskState.TASK_STATE_WORKING, event.at);
    const message =
      text === undefined
        ? undefined
        : agentMessage(this.#ids, `${this.#ids.id}-${event.seq}`, [textPart(text)]);
    return [this.#status({ ...status, message }, { [META_EVENT]: event })];
  }

  #status(
    status: ReturnType<typeof plainStatus>,
    metadata?: Record<string, unknown>,
  ): StreamResponse {
    const { id: taskId, contextId } = this.#ids;
    return { payload: { $case: 'statusUpdate', value: { taskId, contextId, status, metadata } } };
  }

  #artifact(
    piece: Pick<TaskArtifactUpdateEvent, 'artifact' | 'append' | 'lastChunk'>,
  ): StreamResponse {
    const { id: taskId, contextId } = this.#ids;
    const value = { taskId, contextId, ...piece, metadata: undefined };
    return { payload: { $case: 'artifactUpdate', value } };
  }
}
