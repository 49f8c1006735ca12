import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { createTrace, isObject, META, ROOT_HOP, toMeta } from '@starloom/core';

/**
 * Every request says which trace it belongs to. A request that serves no call, such as `tools/list`,
 * begins a trace of its own.
 */
export function traced(message: JSONRPCMessage): JSONRPCMessage {
  if (!('method' in message) || !('id' in message)) return message;
  const { params = {} } = message;
  const meta = isObject(params._meta) ? params._meta : {};
  if (META.trace in meta) return message;
  return {
    ...message,
    params: { ...params, _meta: { ...toMeta(createTrace(), ROOT_HOP), ...meta } },
  };
}
