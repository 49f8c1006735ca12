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
import type { HttpRequest } from '../transports/http.ts';
import type { A2aFace } from './face.ts';
import { toRestError } from './failures.ts';
import { readBody } from './read-body.ts';
import { respond, respondStream } from './respond.ts';
import { matchRest, type RestMatch } from './rest-paths.ts';

interface RestCall {
  readonly exchange: HttpRequest;
  readonly face: A2aFace;
  /** Below the URL of the agent, with its slash. */
  readonly path: string;
  readonly trace: Trace;
}

export async function serveRest({ exchange, face, path, trace }: RestCall): Promise<void> {
  const { request, response, url, body, detach } = exchange;
  const match = matchRest(request.method ?? 'GET', path);
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
