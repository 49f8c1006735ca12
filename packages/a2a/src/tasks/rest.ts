// The REST binding of 1.0: the same operations as paths.

import {
  A2A_CONTENT_TYPE,
  AgentCard,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  type ListTasksResponse,
  Message,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { FabricError, type Trace } from '@starloom/core';
import type { A2aFace } from './face.ts';
import { type A2aExchange, a2aError, respond, respondStream, toRestError } from './respond.ts';

type RestOperation =
  | 'send'
  | 'stream'
  | 'get'
  | 'list'
  | 'cancel'
  | 'subscribe'
  | 'create-push'
  | 'get-push'
  | 'list-push'
  | 'delete-push'
  | 'extended-card';

/** Logs, spans and metrics say what the other bindings say. */
const METHODS: Readonly<Record<RestOperation, string>> = {
  send: 'SendMessage',
  stream: 'SendStreamingMessage',
  get: 'GetTask',
  list: 'ListTasks',
  cancel: 'CancelTask',
  subscribe: 'SubscribeToTask',
  'create-push': 'CreateTaskPushNotificationConfig',
  'get-push': 'GetTaskPushNotificationConfig',
  'list-push': 'ListTaskPushNotificationConfigs',
  'delete-push': 'DeleteTaskPushNotificationConfig',
  'extended-card': 'GetExtendedAgentCard',
};

interface RestMatch {
  readonly operation: RestOperation;
  readonly taskId: string;
  readonly configId: string;
}

const ID = '([^/:]+)';
const PUSH = `/tasks/${ID}/pushNotificationConfigs`;

export const ROUTES: readonly (readonly [RestOperation, string, RegExp])[] = [
  ['send', 'POST', /^\/message:send$/],
  ['stream', 'POST', /^\/message:stream$/],
  ['list', 'GET', /^\/tasks$/],
  ['get', 'GET', new RegExp(`^/tasks/${ID}$`)],
  ['cancel', 'POST', new RegExp(`^/tasks/${ID}:cancel$`)],
  ['subscribe', 'GET', new RegExp(`^/tasks/${ID}:subscribe$`)],
  ['subscribe', 'POST', new RegExp(`^/tasks/${ID}:subscribe$`)],
  ['create-push', 'POST', new RegExp(`^${PUSH}$`)],
  ['list-push', 'GET', new RegExp(`^${PUSH}$`)],
  ['get-push', 'GET', new RegExp(`^${PUSH}/([^/]+)$`)],
  ['delete-push', 'DELETE', new RegExp(`^${PUSH}/([^/]+)$`)],
  ['extended-card', 'GET', /^\/extendedAgentCard$/],
];

interface RestCall {
  readonly exchange: A2aExchange;
  readonly face: A2aFace;
  /** Below the URL of the agent, with its slash. */
  readonly path: string;
  readonly trace: Trace;
}

export async function serveRest({ exchange, face, path, trace }: RestCall): Promise<void> {
  const { request, response, url, body, detach, seen } = exchange;
  const match = matchRest(request.method ?? 'GET', path);
  seen.isFor(METHODS[match.operation]);
  const stream = streamOf(match, face, body);
  if (stream) {
    if (match.operation === 'subscribe') detach();
    return await respondStream(response, stream, (error) => toRestError(error, trace));
  }
  const answer = await answerOf(match, face, body, url.searchParams);
  if (answer === undefined) return void response.writeHead(204).end();
  const status = match.operation === 'create-push' ? 201 : 200;
  respond(response, { status, contentType: A2A_CONTENT_TYPE, body: answer });
}

function streamOf({ operation, taskId }: RestMatch, face: A2aFace, body: unknown) {
  if (operation === 'stream') return toItems(face.sendMessageStream(readSend(body)));
  return operation === 'subscribe'
    ? toItems(face.resubscribe({ tenant: '', id: taskId }))
    : undefined;
}

async function answerOf(
  { operation, taskId, configId }: RestMatch,
  face: A2aFace,
  body: unknown,
  query: URLSearchParams,
): Promise<unknown> {
  const tenant = '';
  switch (operation) {
    case 'send': {
      const sent = await face.sendMessage(readSend(body));
      return 'messageId' in sent ? { message: Message.toJSON(sent) } : { task: Task.toJSON(sent) };
    }
    case 'get': {
      const historyLength = numberIn(query, 'historyLength');
      return Task.toJSON(await face.getTask({ tenant, id: taskId, historyLength }));
    }
    case 'list':
      return toListed(await face.listTasks(readList(query)), query);
    case 'cancel':
      return Task.toJSON(await face.cancelTask({ tenant, id: taskId, metadata: undefined }));
    case 'create-push': {
      const config = readBody(TaskPushNotificationConfig, body);
      const made = await face.createTaskPushNotificationConfig({ ...config, taskId });
      return TaskPushNotificationConfig.toJSON(made);
    }
    case 'get-push': {
      const found = await face.getTaskPushNotificationConfig({ tenant, taskId, id: configId });
      return TaskPushNotificationConfig.toJSON(found);
    }
    case 'list-push': {
      const asked = { tenant, taskId, pageSize: 0, pageToken: '' };
      const listed = await face.listTaskPushNotificationConfigs(asked);
      return ListTaskPushNotificationConfigsResponse.toJSON(listed);
    }
    case 'delete-push':
      await face.deleteTaskPushNotificationConfig({ tenant, taskId, id: configId });
      return undefined;
    case 'extended-card':
      return AgentCard.toJSON(await face.getAuthenticatedExtendedAgentCard());
    default:
      throw new FabricError('INTERNAL', `${operation} is a stream`);
  }
}

async function* toItems(updates: AsyncGenerator<StreamResponse, void>) {
  for await (const update of updates) yield StreamResponse.toJSON(update);
}

/** Fields that ProtoJSON leaves out when they are empty, and the protocol wants to see. */
function toListed(listed: ListTasksResponse, query: URLSearchParams): unknown {
  const { pageSize, totalSize, nextPageToken } = listed;
  const tasks = listed.tasks.map((task) => ({
    ...(wantsArtifacts(query) && { artifacts: [] }),
    ...(Task.toJSON(task) as Record<string, unknown>),
  }));
  return { tasks, nextPageToken, pageSize, totalSize };
}

function readSend(body: unknown): SendMessageRequest {
  return readBody(SendMessageRequest, body);
}

function readList(query: URLSearchParams): ListTasksRequest {
  const pageSize = numberIn(query, 'pageSize');
  const historyLength = numberIn(query, 'historyLength');
  const texts = Object.fromEntries(query);
  const includeArtifacts = wantsArtifacts(query);
  return { ...readBody(ListTasksRequest, texts), pageSize, historyLength, includeArtifacts };
}

function wantsArtifacts(query: URLSearchParams): boolean {
  return query.get('includeArtifacts') === 'true';
}

/** `undefined` when it is not there; not a number when it is none. */
function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : Number(text);
}

/** 404 for a path that is none of them, 405 for a method that it does not take. */
function matchRest(method: string, path: string): RestMatch {
  const served = ROUTES.filter(([, , pattern]) => pattern.test(path));
  const found = served.find(([, allowed]) => allowed === method);
  if (found) {
    const [operation, , pattern] = found;
    const [, taskId = '', configId = ''] = pattern.exec(path) ?? [];
    return { operation, taskId: decodePart(taskId), configId: decodePart(configId) };
  }
  const allow = served.map(([, allowed]) => allowed).join(', ');
  const details =
    served.length > 0
      ? { reason: 'method_not_allowed', http_status: 405, allow }
      : { reason: 'not_found', http_status: 404 };
  throw new FabricError('BAD_INPUT', `A2A does not serve ${method} there`, { details });
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A document of the protocol from JSON; INVALID_PARAMS when it cannot be read as one. */
function readBody<Type>(type: { fromJSON(object: unknown): Type }, body: unknown): Type {
  try {
    return type.fromJSON(body ?? {});
  } catch {
    throw a2aError('INVALID_PARAMS', 'The body cannot be read as the operation wants it');
  }
}
