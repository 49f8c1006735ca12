// One request of an A2A client, over whichever binding: the operations of the protocol on jobs. A task
// is a job of the caller under the same id; there is no store of tasks beside it.

import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest as DeleteHook,
  GetTaskPushNotificationConfigRequest as GetHook,
  GetTaskRequest,
  TaskPushNotificationConfig as Hook,
  ListTaskPushNotificationConfigsResponse as HookList,
  ListTaskPushNotificationConfigsRequest as ListHooks,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { FabricError, isFinal, openInputs, type StoredJob } from '@starloom/core';
import { jobNotFound, waitForJob } from '@starloom/jobs';
import { META_REPLY } from '../names.ts';
import { agentMessage, textPart } from '../parts.ts';
import type { PushNotifications } from './push.ts';
import { toAnswers } from './read-message.ts';
import { answerWith, assertHistoryLength, listTasks, newestJobs, readTask } from './read-task.ts';
import { a2aError } from './respond.ts';
import { TaskFeed } from './task-feed.ts';
import type { NewTask, TaskJobs, TaskOwner } from './task-jobs.ts';
import { idsOf, isAuth, resultOf } from './to-status.ts';

interface FaceDeps {
  readonly jobs: TaskJobs;
  readonly push: PushNotifications;
}

export interface FaceRequest {
  readonly owner: TaskOwner;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
  readonly isLegacy: boolean;
  /** The agent whose tasks these are; without one those of all that the owner may use. */
  readonly agentId: string | undefined;
  readonly card: (isExtended: boolean) => Promise<AgentCard>;
  /** Resolves when what the card shows is known, or does not come soon. */
  readonly awaitSkills: () => Promise<void>;
  /** Stores a task and returns its job. */
  readonly begin: (task: NewTask) => Promise<StoredJob>;
}

/** How long a cancellation waits for the agent to stop. */
const CANCEL_WAIT_MS = 10_000;
const MAX_ID_LENGTH = 256;

export class A2aFace implements A2ARequestHandler {
  readonly #deps: FaceDeps;
  readonly #request: FaceRequest;
  /** What the last operation failed with: the SDK keeps only its message. */
  failure: FabricError | undefined;

  constructor(deps: FaceDeps, request: FaceRequest) {
    this.#deps = deps;
    this.#request = request;
  }

  awaitSkills(): Promise<void> {
    return this.#request.awaitSkills();
  }

  getAgentCard(): Promise<AgentCard> {
    return this.#request.card(false);
  }

  getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    return this.#recordFailure(async () => {
      await this.awaitSkills();
      return await this.#request.card(true);
    });
  }

  sendMessage(params: SendMessageRequest): Promise<Message | Task> {
    return this.#recordFailure(async () => {
      const { historyLength, returnImmediately } = params.configuration ?? {};
      assertHistoryLength(historyLength);
      const accepted = await this.#accept(params);
      const job = returnImmediately ? accepted : await this.#waitUntilSettled(accepted);
      return toMessage(job) ?? (await this.#read(job, historyLength)).task;
    });
  }

  async *sendMessageStream(params: SendMessageRequest): AsyncGenerator<StreamResponse, void> {
    assertHistoryLength(params.configuration?.historyLength);
    const job = await this.#accept(params);
    const { task, said } = await this.#read(job, params.configuration?.historyLength);
    yield { payload: { $case: 'task', value: task } };
    yield* this.#follow(job, said, true);
  }

  getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    return this.#recordFailure(async () => {
      assertHistoryLength(historyLength);
      return (await this.#read(await this.#find(id), historyLength)).task;
    });
  }

  listTasks(params: ListTasksRequest): Promise<ListTasksResponse> {
    const { owner, agentId } = this.#request;
    return this.#recordFailure(() => listTasks(params, owner, agentId, this.#deps.jobs));
  }

  cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    return this.#recordFailure(async () => {
      const { desk } = this.#deps.jobs;
      const { owner } = this.#request;
      const job = await this.#find(id);
      if (isFinal(job.state)) throw notCancelable(job);
      const asked = await desk.cancel(owner.id, id).catch((error: unknown) => {
        const isOver = FabricError.from(error).details.reason === 'job_finished';
        throw isOver ? notCancelable(job) : error;
      });
      const ended = isFinal(asked.state)
        ? asked
        : await this.#waitUntilSettled(asked, CANCEL_WAIT_MS);
      if (ended.state === 'succeeded' || ended.state === 'failed') throw notCancelable(ended);
      return (await this.#read(ended)).task;
    });
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void> {
    const job = await this.#find(id);
    if (isFinal(job.state)) {
      const message = `The task is over (${job.state}): there is nothing to subscribe to`;
      throw a2aError('UNSUPPORTED_OPERATION', message, { fix: 'read it with GetTask' });
    }
    const { task, said } = await this.#read(job);
    yield { payload: { $case: 'task', value: task } };
    yield* this.#follow(job, said, false);
  }

  createTaskPushNotificationConfig(config: Hook): Promise<Hook> {
    const { push } = this.#deps;
    const { isLegacy } = this.#request;
    return this.#recordFailure(async () =>
      push.add(await this.#find(config.taskId), config, isLegacy),
    );
  }

  getTaskPushNotificationConfig({ taskId, id }: GetHook): Promise<Hook> {
    return this.#recordFailure(async () => {
      const configs = this.#deps.push.list(await this.#find(taskId));
      const config = configs.find((each) => each.id === id);
      if (config) return config;
      throw a2aError('TASK_NOT_FOUND', 'The task has no such webhook');
    });
  }

  listTaskPushNotificationConfigs({ taskId }: ListHooks): Promise<HookList> {
    return this.#recordFailure(async () => {
      const configs = this.#deps.push.list(await this.#find(taskId));
      return { configs, nextPageToken: '' };
    });
  }

  deleteTaskPushNotificationConfig({ taskId, id }: DeleteHook): Promise<void> {
    return this.#recordFailure(async () => this.#deps.push.remove(await this.#find(taskId), id));
  }

  async #accept(params: SendMessageRequest): Promise<StoredJob> {
    const { message, configuration } = params;
    if (!message) throw a2aError('INVALID_PARAMS', 'message is required');
    if (!message.messageId) throw a2aError('INVALID_PARAMS', 'message.messageId is required');
    for (const id of [message.contextId, message.messageId, message.taskId]) {
      if (id.length > MAX_ID_LENGTH) throw a2aError('INVALID_PARAMS', 'An id is too long');
    }
    const hook = configuration?.taskPushNotificationConfig;
    if (hook?.url) this.#deps.push.assertAllowed(hook.url);
    const job = message.taskId ? await this.#answer(message) : await this.#begin(message, params);
    if (hook?.url) await this.#deps.push.add(job, hook, this.#request.isLegacy);
    return job;
  }

  async #begin(
    message: Message,
    { metadata, configuration }: SendMessageRequest,
  ): Promise<StoredJob> {
    const contextId = message.contextId || crypto.randomUUID();
    return await this.#request.begin({
      message,
      metadata: { ...metadata, ...message.metadata },
      contextId,
      accepted: configuration?.acceptedOutputModes ?? [],
      last: async () => (message.contextId ? await this.#lastOf(contextId) : undefined),
    });
  }

  /** A message to a task that asks. */
  async #answer(message: Message): Promise<StoredJob> {
    const { jobs } = this.#deps;
    const { owner } = this.#request;
    const job = await this.#find(message.taskId);
    const { contextId } = idsOf(job);
    if (message.contextId && message.contextId !== contextId) {
      throw a2aError('INVALID_PARAMS', 'contextId is not the one of the task');
    }
    if (job.state !== 'awaiting_input') {
      const why = isFinal(job.state) ? `is over (${job.state})` : 'asks nothing now';
      throw a2aError('UNSUPPORTED_OPERATION', `The task ${why} and takes no message`, {
        fix: 'send the message without taskId; the same contextId goes on with the conversation',
      });
    }
    const questions = openInputs(job) as unknown as Parameters<typeof toAnswers>[1];
    const answers = toAnswers(message, questions);
    return await answerWith(message, job, jobs, () => jobs.input(owner.id, job.id, answers));
  }

  async #lastOf(contextId: string): Promise<StoredJob | undefined> {
    const { owner, agentId } = this.#request;
    const { jobs } = this.#deps;
    for await (const job of newestJobs(owner, agentId, jobs)) {
      if (idsOf(job).contextId === contextId) return await jobs.desk.status(owner.id, job.id);
    }
    return undefined;
  }

  /** The job when it is over, when it asks, or when `ms` have passed. */
  #waitUntilSettled(job: StoredJob, ms = Number.POSITIVE_INFINITY): Promise<StoredJob> {
    const { owner, signal } = this.#request;
    const wait = { principalId: owner.id, signal, ms, after: job.cursor };
    return waitForJob(this.#deps.jobs.desk, job.id, wait);
  }

  async *#follow(
    job: StoredJob,
    said: string,
    endsWhenAsked: boolean,
  ): AsyncGenerator<StreamResponse, void> {
    const { desk } = this.#deps.jobs;
    const { owner, signal } = this.#request;
    const feed = new TaskFeed(idsOf(job), { said, isWorking: job.state === 'running' });
    const result = async () => resultOf(await desk.status(owner.id, job.id));
    for await (const { event } of desk.stream(owner.id, job.id, {
      after: job.cursor,
      signal,
    })) {
      yield* await feed.next(event, result);
      const isAsked = event.type === 'status' && event.data.state === 'awaiting_input';
      // A person authorises elsewhere, so the stream goes on with the task.
      if (isAsked && endsWhenAsked && !isAuth(event.data.inputs ?? [])) return;
    }
  }

  #read(job: StoredJob, historyLength?: number) {
    return readTask(job, this.#deps.jobs, { historyLength });
  }

  /** One of the caller's, at this agent: any other looks unknown. */
  async #find(id: string): Promise<StoredJob> {
    const { owner, agentId } = this.#request;
    const job = await this.#deps.jobs.find(owner, id);
    if (agentId === undefined || job.agent_id === agentId) return job;
    throw jobNotFound(id);
  }

  async #recordFailure<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      this.failure = FabricError.from(error);
      throw error;
    }
  }
}

/** An agent may answer without a task: then nothing of it is to be followed. */
function toMessage(job: StoredJob): Message | undefined {
  if (job.state !== 'succeeded') return undefined;
  const { answer, upstream } = resultOf(job);
  const meta = upstream?._meta as Record<string, unknown> | undefined;
  if (meta?.[META_REPLY] !== 'message') return undefined;
  const ids = idsOf(job);
  return { ...agentMessage(ids, `${ids.id}-reply`, [textPart(answer)]), taskId: '' };
}

function notCancelable({ state }: StoredJob): FabricError {
  return a2aError('TASK_NOT_CANCELABLE', `The task is over already (${state})`);
}
