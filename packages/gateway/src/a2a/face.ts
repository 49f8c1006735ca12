// One request of an A2A client, over whichever binding: the operations of the protocol on jobs. A task
// is a job of the caller under the same id; there is no store of tasks beside it.

import {
  type AgentCard,
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type ListTasksRequest,
  type ListTasksResponse,
  Message,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { FabricError, isFinal, type Job, openInputs, type StoredJob } from '@starloom/core';
import { jobNotFound } from '@starloom/jobs';
import type { Discovery } from '../discovery.ts';
import type { JobCalls } from '../jobs/job-calls.ts';
import { waitForJob } from '../jobs/wait-for-job.ts';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import { a2aError } from './failures.ts';
import { answerWith } from './history.ts';
import { assertHistoryLength, listTasks, newestJobs } from './list-tasks.ts';
import { LABEL_CONTEXT, META_REPLY } from './names.ts';
import { agentMessage, textPart } from './parts.ts';
import type { PushNotifications } from './push-notifications.ts';
import { resultOf } from './read-result.ts';
import { readTask } from './read-task.ts';
import type { Scope } from './scope.ts';
import { TaskFeed } from './task-feed.ts';
import { toAnswers } from './to-answers.ts';
import { type Before, NO_CAPABILITY, toCallRequest } from './to-request.ts';
import { idsOf, isAuth } from './to-status.ts';

export interface FaceDeps {
  readonly jobs: JobCalls;
  readonly push: PushNotifications;
  readonly discovery: Discovery;
}

export interface FaceRequest {
  readonly scope: Scope;
  readonly caller: Caller;
  readonly isLegacy: boolean;
  readonly card: (isExtended: boolean) => Promise<AgentCard>;
}

const DISCOVERY_WAIT_MS = 30_000;
/** Of a card, and of a message to the gateway itself: other agents should not wait for a dead one. */
const SKILLS_WAIT_MS = 2_000;
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

  getAgentCard(): Promise<AgentCard> {
    return this.#request.card(false);
  }

  getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    return this.#noted(async () => {
      await this.awaitSkills();
      return await this.#request.card(true);
    });
  }

  sendMessage(params: SendMessageRequest): Promise<Message | Task> {
    return this.#noted(async () => {
      const { historyLength, returnImmediately } = params.configuration ?? {};
      assertHistoryLength(historyLength);
      const accepted = await this.#accept(params);
      const { caller } = this.#request;
      const { desk } = this.#deps.jobs;
      const ms = Number.POSITIVE_INFINITY;
      const job = returnImmediately
        ? accepted
        : await waitForJob(desk, accepted, caller, ms, accepted.cursor);
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
    return this.#noted(async () => {
      assertHistoryLength(historyLength);
      return (await this.#read(await this.#find(id), historyLength)).task;
    });
  }

  listTasks(params: ListTasksRequest): Promise<ListTasksResponse> {
    const { scope, caller } = this.#request;
    return this.#noted(() => listTasks(params, caller.principal, scope.agentId, this.#deps.jobs));
  }

  cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    return this.#noted(async () => {
      const { desk } = this.#deps.jobs;
      const { caller } = this.#request;
      const job = await this.#find(id);
      if (isFinal(job.state)) throw notCancelable(job);
      const asked = await desk.cancel(caller.principal.id, id).catch((error: unknown) => {
        throw FabricError.from(error).details.reason === 'job_finished'
          ? notCancelable(job)
          : error;
      });
      const ended = isFinal(asked.state)
        ? asked
        : await waitForJob(desk, asked, caller, CANCEL_WAIT_MS, asked.cursor);
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

  createTaskPushNotificationConfig(
    config: TaskPushNotificationConfig,
  ): Promise<TaskPushNotificationConfig> {
    const { push } = this.#deps;
    const { isLegacy } = this.#request;
    return this.#noted(async () => push.add(await this.#find(config.taskId), config, isLegacy));
  }

  getTaskPushNotificationConfig({
    taskId,
    id,
  }: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    return this.#noted(async () => {
      const config = this.#deps.push.get(await this.#find(taskId), id);
      if (config) return config;
      throw a2aError('TASK_NOT_FOUND', 'The task has no such webhook');
    });
  }

  listTaskPushNotificationConfigs({
    taskId,
  }: ListTaskPushNotificationConfigsRequest): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.#noted(async () => {
      const configs = this.#deps.push.list(await this.#find(taskId));
      return { configs, nextPageToken: '' };
    });
  }

  deleteTaskPushNotificationConfig({
    taskId,
    id,
  }: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    return this.#noted(async () => this.#deps.push.remove(await this.#find(taskId), id));
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
    const job = message.taskId
      ? await this.#answer(message)
      : await this.#begin(message, params.metadata ?? {});
    if (hook?.url) await this.#deps.push.add(job, hook, this.#request.isLegacy);
    return job;
  }

  async #begin(message: Message, metadata: Record<string, unknown>): Promise<StoredJob> {
    const { scope, caller } = this.#request;
    const { jobs } = this.#deps;
    const contextId = message.contextId || crypto.randomUUID();
    const before = message.contextId ? await this.#lastOf(contextId) : undefined;
    const request = await this.#discovered(() =>
      toCallRequest(message, metadata, contextId, scope, before),
    );
    const meta = { ...metadata, ...message.metadata };
    const { job } = await jobs.submit(
      request,
      { ...caller, meta },
      {
        isLong: true,
        isTask: true,
        labels: { [LABEL_CONTEXT]: contextId },
        source: Message.toJSON({ ...message, contextId }),
      },
    );
    return job;
  }

  /** A message to a task that asks. */
  async #answer(message: Message): Promise<StoredJob> {
    const { jobs } = this.#deps;
    const { caller } = this.#request;
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
    return await answerWith(message, job, jobs, () =>
      jobs.input(caller.principal.id, job.id, answers),
    );
  }

  /** What the last task of a context called, and the conversation that it left open. */
  async #lastOf(contextId: string): Promise<Before | undefined> {
    const { scope, caller } = this.#request;
    const { jobs } = this.#deps;
    let last: Job | undefined;
    for await (const job of newestJobs(caller.principal, scope.agentId, jobs)) {
      if (idsOf(job).contextId !== contextId) continue;
      last = job;
      break;
    }
    if (last?.agent_id === undefined || !scope.agents.get(last.agent_id)) return undefined;
    const { agent_id: agentId, capability } = last;
    const { result } = await jobs.desk.status(caller.principal.id, last.id);
    const { conversation_id } = (result ?? {}) as { readonly conversation_id?: string };
    return { agentId, capability, conversationId: conversation_id };
  }

  async *#follow(
    job: StoredJob,
    said: string,
    endsWhenAsked: boolean,
  ): AsyncGenerator<StreamResponse, void> {
    const { desk } = this.#deps.jobs;
    const { caller } = this.#request;
    const { principal, signal } = caller;
    const feed = new TaskFeed(idsOf(job), { said, isWorking: job.state === 'running' });
    const result = async () => resultOf(await desk.status(principal.id, job.id));
    for await (const { event } of desk.stream(principal.id, job.id, {
      after: job.cursor,
      signal,
    })) {
      yield* await feed.next(event, result);
      const isAsked = event.type === 'status' && event.data.state === 'awaiting_input';
      // Who authorises does that elsewhere: the stream goes on with the task.
      if (isAsked && endsWhenAsked && !isAuth(event.data.inputs ?? [])) return;
    }
  }

  #read(job: StoredJob, historyLength?: number) {
    return readTask(job, this.#deps.jobs, { historyLength });
  }

  /** One of the caller's, at this agent: any other looks unknown. */
  async #find(id: string): Promise<StoredJob> {
    const { scope, caller } = this.#request;
    const job = await this.#deps.jobs.find(caller.principal, id);
    if (scope.agentId === undefined || job.agent_id === scope.agentId) return job;
    throw jobNotFound(id);
  }

  /** What agents were not asked yet what they offer is left out of a card after a while. */
  async awaitSkills(): Promise<void> {
    const { scope, caller } = this.#request;
    const ready = this.#deps.discovery.awaitFor(scope, caller, SKILLS_WAIT_MS);
    await ready?.catch(() => {});
  }

  /** Reads again once an agent said what it offers; an agent that does not say it is offline. */
  async #discovered(read: () => CallRequest): Promise<CallRequest> {
    const { scope, caller } = this.#request;
    try {
      return read();
    } catch (error) {
      if (FabricError.from(error).details.reason !== NO_CAPABILITY) throw error;
    }
    if (scope.agentId === undefined) await this.awaitSkills();
    else await this.#deps.discovery.awaitFor(scope, caller, DISCOVERY_WAIT_MS);
    return read();
  }

  async #noted<Result>(work: () => Promise<Result>): Promise<Result> {
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
