import { type RpcAnswer, type RpcResponse, toRpcError } from '@starloom/coordination';
import { FabricError } from '@starloom/core';

/** At a shutdown: whoever did not get a lock might have, had there been time, and is told so. */
export function cutShort(answer: RpcAnswer): RpcAnswer {
  if (answer === undefined) return undefined;
  return isBatch(answer) ? answer.map(toCutShort) : toCutShort(answer);
}

function toCutShort(response: RpcResponse): RpcResponse {
  if (!('error' in response)) return response;
  const { reason, code } = response.error.data;
  if (reason !== 'lock_held' && code !== 'CANCELLED') return response;
  return { ...response, error: toRpcError(shuttingDown()) };
}

function isBatch(answer: RpcResponse | readonly RpcResponse[]): answer is readonly RpcResponse[] {
  return Array.isArray(answer);
}

function shuttingDown(): FabricError {
  return new FabricError('CANCELLED', 'The gateway is shutting down', {
    details: { reason: 'shutting_down', fix: 'ask again in a moment, or another gateway' },
  });
}
