// The REST binding of 1.0. Each path is an operation of the JSON-RPC binding under another address, so
// the SDK's handler of that binding reads its parameters and writes its result.

import { A2A_CONTENT_TYPE } from '@a2a-js/sdk';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { FabricError, type Fields, type Trace, toFields } from '@starloom/core';
import type { A2aFace } from './face.ts';
import { isStream, type RpcResponse, unreadable } from './json-rpc.ts';
import { type A2aExchange, respond, respondStream, toRestError } from './respond.ts';

const TASK = '/tasks/(?<id>[^/:]+)';
const HOOKS = '/tasks/(?<taskId>[^/:]+)/pushNotificationConfigs';
const HOOK = `${HOOKS}/(?<id>[^/]+)`;
const CREATE_HOOK = 'CreateTaskPushNotificationConfig';
const SUBSCRIBE = 'SubscribeToTask';

/** Operation, HTTP method and path; the groups of the path are parameters. */
export const ROUTES: readonly (readonly [operation: string, method: string, path: RegExp])[] = [
  ['SendMessage', 'POST', /^\/message:send$/],
  ['SendStreamingMessage', 'POST', /^\/message:stream$/],
  ['ListTasks', 'GET', /^\/tasks$/],
  ['GetTask', 'GET', new RegExp(`^${TASK}$`)],
  ['CancelTask', 'POST', new RegExp(`^${TASK}:cancel$`)],
  [SUBSCRIBE, 'GET', new RegExp(`^${TASK}:subscribe$`)],
  [SUBSCRIBE, 'POST', new RegExp(`^${TASK}:subscribe$`)],
  [CREATE_HOOK, 'POST', new RegExp(`^${HOOKS}$`)],
  ['ListTaskPushNotificationConfigs', 'GET', new RegExp(`^${HOOKS}$`)],
  ['GetTaskPushNotificationConfig', 'GET', new RegExp(`^${HOOK}$`)],
  ['DeleteTaskPushNotificationConfig', 'DELETE', new RegExp(`^${HOOK}$`)],
  ['GetExtendedAgentCard', 'GET', /^\/extendedAgentCard$/],
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
  const { method: verb = 'GET' } = request;
  const { method, ids } = matchRest(verb, path);
  seen.isFor(method);
  const given = verb === 'GET' ? fromQuery(url.searchParams) : toFields(body);
  const rpc = { jsonrpc: '2.0', id: 0, method, params: { ...given, ...ids } };
  const handler = new JsonRpcTransportHandler(face);
  const answered = await handler.handle(rpc, new ServerCallContext({ requestedVersion: '1.0' }));
  if (isStream(answered)) {
    if (method === SUBSCRIBE) detach();
    return await respondStream(response, resultsIn(answered), (error) => toRestError(error, trace));
  }
  const { error, result } = answered as RpcResponse;
  if (error !== undefined) throw face.failure ?? unreadable();
  if (result === null) return void response.writeHead(204).end();
  const status = method === CREATE_HOOK ? 201 : 200;
  respond(response, { status, contentType: A2A_CONTENT_TYPE, body: result });
}

async function* resultsIn(answers: AsyncGenerator<unknown, void>): AsyncGenerator<unknown, void> {
  for await (const answer of answers) yield (answer as RpcResponse).result;
}

/** The SDK reads numbers from texts, but takes any text as `true`. */
function fromQuery(query: URLSearchParams): Fields {
  const includeArtifacts = query.get('includeArtifacts') === 'true';
  return { ...Object.fromEntries(query), includeArtifacts };
}

/** 404 for a path that is none of them, 405 for a method that it does not take. */
function matchRest(verb: string, path: string) {
  const served = ROUTES.filter(([, , pattern]) => pattern.test(path));
  const found = served.find(([, allowed]) => allowed === verb);
  if (found) {
    const [method, , pattern] = found;
    const groups = Object.entries(pattern.exec(path)?.groups ?? {});
    return { method, ids: Object.fromEntries(groups.map(([name, id]) => [name, decodePart(id)])) };
  }
  const allow = served.map(([, allowed]) => allowed).join(', ');
  const details =
    served.length > 0
      ? { reason: 'method_not_allowed', http_status: 405, allow }
      : { reason: 'not_found', http_status: 404 };
  throw new FabricError('BAD_INPUT', `A2A does not serve ${verb} there`, { details });
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
