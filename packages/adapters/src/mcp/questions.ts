// Questions of MCP agents as ours, and answers back: what older agents ask by requests of their own,
// and what agents of the current revision ask by a result that wants input.

import {
  bounded,
  type Fields,
  type InputRequest,
  type InputResponse,
  isObject,
} from '@starloom/core';
import { REJECTION, type RpcAnswer } from '@starloom/mcp-client';

interface Asked {
  readonly method: string;
  readonly params: Fields;
}

/** What a result that wants input asks, by the names that the agent gave. */
export function questionsIn(result: Fields): InputRequest[] {
  const requests = isObject(result.inputRequests) ? result.inputRequests : {};
  return Object.entries(requests).flatMap(([id, asked]) => {
    if (!isObject(asked) || typeof asked.method !== 'string') return [];
    return toQuestion(id, asked.method, isObject(asked.params) ? asked.params : {});
  });
}

export function toQuestion(id: string, method: string, params: Fields = {}): InputRequest {
  const { _meta, ...asked } = params;
  const native: Asked = { method, params: asked };
  switch (method) {
    case 'sampling/createMessage':
      return { id, kind: 'model', message: 'The agent asks for an answer of a model', native };
    case 'roots/list':
      return { id, kind: 'roots', message: 'The agent asks which folders it may use', native };
    default:
      return { id, ...toElicited(params), native };
  }
}

function toElicited(params: Fields): Omit<InputRequest, 'id' | 'native'> {
  const { mode, url, requestedSchema } = params;
  const message = typeof params.message === 'string' ? bounded(params.message) : '';
  if (mode === 'url') return { kind: 'url', message, ...(typeof url === 'string' ? { url } : {}) };
  return { kind: 'form', message, schema: isObject(requestedSchema) ? requestedSchema : {} };
}

/** The answers of one round, as a request of the current revision carries them. */
export function toInputResponses(responses: readonly InputResponse[]): Fields {
  return Object.fromEntries(responses.map((response) => [response.id, toNative(response)]));
}

/** An answer to a request of an older agent. */
export function toRpcAnswer(method: string, response: InputResponse): RpcAnswer {
  if (method === 'elicitation/create') return { result: toNative(response) };
  if (response.action === 'accept') return { result: toNative(response) };
  return REJECTION;
}

/** What a caller of the same protocol answered, as it came; else in the form of an elicitation. */
function toNative({ action, content, native }: InputResponse): Fields {
  if (isObject(native)) return native;
  return action === 'accept' && content !== undefined ? { action, content } : { action };
}
