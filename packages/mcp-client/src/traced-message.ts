import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { createTrace, fromMeta, isObject, META, toMeta } from '@starloom/core';

/**
 * Every request says which trace it belongs to. A request that serves no call, such as `tools/list`,
 * begins a trace of its own.
 */
export function traced(message: JSONRPCMessage): JSONRPCMessage {
  if (!('method' in message) || !('id' in message)) return message;
  const { params = {} } = message;
  const meta = isObject(params._meta) ? params._meta : {};
  if (META.trace in meta) return message;
  const { named, traceId, hop } = fromMeta(meta);
  if (named) return message;
  return {
    ...message,
    params: { ...params, _meta: { ...toMeta(createTrace(traceId), hop), ...meta } },
  };
}
