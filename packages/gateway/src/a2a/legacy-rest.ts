// The REST binding of 0.3: the paths are those of 1.0 below `/v1`, the documents are translated.

import {
  Message,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { FabricError, type Trace } from '@starloom/core';
import type { HttpRequest } from '../transports/http.ts';
import type { A2aFace } from './face.ts';
import { toRpcError } from './failures.ts';
import {
  fromLegacyHook,
  fromLegacySend,
  toJson,
  toLegacyHook,
  toLegacyItem,
  toLegacyMessage,
  toLegacyTask,
} from './legacy-json.ts';
import { readBody } from './read-body.ts';
import { respond, respondStream } from './respond.ts';
import { matchRest, type RestMatch } from './rest-paths.ts';

interface LegacyRestCall {
  readonly exchange: HttpRequest;
  readonly face: A2aFace;
  /** Below `/v1`. */
  readonly path: string;
  readonly trace: Trace;
  /** The card with what only a caller with a key may see. */
  readonly card: () => Promise<unknown>;
}

export async function serveLegacyRest(call: LegacyRestCall): Promise<void> {
  const { exchange, face, path, trace } = call;
  const { request, response, url, body, detach } = exchange;
  const method = request.method ?? 'GET';
  const match = method === 'GET' && path === '/card' ? EXTENDED_CARD : matchRest(method, path);
  if (match.operation === 'stream' || match.operation === 'subscribe') {
    const updates =
      match.operation === 'stream'
        ? face.sendMessageStream(readSend(body))
        : face.resubscribe({ tenant: '', id: match.taskId });
    if (match.operation === 'subscribe') detach();
    return await respondStream(response, toItems(updates), (error) => toRpcError(error, trace));
  }
  const { searchParams } = url;
  const length = searchParams.get('historyLength') ?? searchParams.get('history_length');
  const answer = await answerOf(match, call, length);
  if (answer === undefined) return void response.writeHead(204).end();
  const status = match.operation === 'send' || match.operation === 'create-push' ? 201 : 200;
  respond(response, { status, contentType: 'application/json', body: answer });
}

const EXTENDED_CARD: RestMatch = { operation: 'extended-card', taskId: '', configId: '' };

async function answerOf(
  { operation, taskId, configId }: RestMatch,
  { face, exchange, card }: LegacyRestCall,
  historyLength: string | null,
): Promise<unknown> {
  const tenant = '';
  switch (operation) {
    case 'send': {
      const sent = await face.sendMessage(readSend(exchange.body));
      if ('messageId' in sent) return { message: toLegacyMessage(toJson(Message.toJSON(sent))) };
      return { task: legacyTask(sent) };
    }
    case 'get': {
      const length = historyLength === null ? undefined : Number(historyLength);
      return legacyTask(await face.getTask({ tenant, id: taskId, historyLength: length }));
    }
    case 'cancel':
      return legacyTask(await face.cancelTask({ tenant, id: taskId, metadata: undefined }));
    case 'create-push': {
      const config = readBody(TaskPushNotificationConfig, fromLegacyHook(exchange.body));
      return legacyHook(await face.createTaskPushNotificationConfig({ ...config, taskId }));
    }
    case 'get-push':
      return legacyHook(await face.getTaskPushNotificationConfig({ tenant, taskId, id: configId }));
    case 'list-push': {
      const asked = { tenant, taskId, pageSize: 0, pageToken: '' };
      const { configs } = await face.listTaskPushNotificationConfigs(asked);
      return { configs: configs.map(legacyHook), nextPageToken: '' };
    }
    case 'delete-push':
      await face.deleteTaskPushNotificationConfig({ tenant, taskId, id: configId });
      return undefined;
    case 'extended-card':
      return await card();
    default:
      throw new FabricError('BAD_INPUT', 'A2A 0.3 does not list tasks', {
        details: { reason: 'not_found', http_status: 404 },
      });
  }
}

async function* toItems(updates: AsyncGenerator<StreamResponse, void>) {
  for await (const update of updates) yield toLegacyItem(toJson(StreamResponse.toJSON(update)));
}

function readSend(body: unknown): SendMessageRequest {
  return readBody(SendMessageRequest, fromLegacySend(body));
}

function legacyTask(task: Task) {
  return toLegacyTask(toJson(Task.toJSON(task)));
}

function legacyHook(config: TaskPushNotificationConfig) {
  return toLegacyHook(toJson(TaskPushNotificationConfig.toJSON(config)));
}
