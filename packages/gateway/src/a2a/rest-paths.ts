import { FabricError } from '@starloom/core';

export type RestOperation =
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

export interface RestMatch {
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

/** 404 for a path that is none of them, 405 for a method that it does not take. */
export function matchRest(method: string, path: string): RestMatch {
  const served = ROUTES.filter(([, , pattern]) => pattern.test(path));
  const found = served.find(([, allowed]) => allowed === method);
  if (found) {
    const [operation, , pattern] = found;
    const [, taskId = '', configId = ''] = pattern.exec(path) ?? [];
    return { operation, taskId: decoded(taskId), configId: decoded(configId) };
  }
  const allow = served.map(([, allowed]) => allowed).join(', ');
  const details =
    served.length > 0
      ? { reason: 'method_not_allowed', http_status: 405, allow }
      : { reason: 'not_found', http_status: 404 };
  throw new FabricError('BAD_INPUT', `A2A does not serve ${method} there`, { details });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
