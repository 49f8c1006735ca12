import type { RpcAnswer } from '@starloom/coordination';
import { isObject } from '@starloom/core';

/** A request that was granted, and what it came to. */
export interface Granted {
  readonly params: object;
  readonly result: object;
}

/** Those of a message that ask for a method and were not refused. */
export function resultsOf(method: string, body: unknown, answer: RpcAnswer): readonly Granted[] {
  const results = new Map<unknown, unknown>(
    [answer].flat().flatMap((each) => (each && 'result' in each ? [[each.id, each.result]] : [])),
  );
  return [body].flat().flatMap((request) => {
    if (!isObject(request) || !('id' in request) || !('method' in request)) return [];
    const result = results.get(request.id);
    if (request.method !== method || !isObject(result)) return [];
    const params = 'params' in request && isObject(request.params) ? request.params : {};
    return [{ params, result }];
  });
}
