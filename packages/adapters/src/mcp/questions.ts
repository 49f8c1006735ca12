// Questions of MCP agents as ours, and answers back: what older agents ask by requests of their own, and what
// agents of the current revision ask by a result that wants input.

import { setTimeout as delay } from 'node:timers/promises';
import type { JSONRPCRequest } from '@modelcontextprotocol/client';
import {
  bounded,
  type CallContext,
  FabricError,
  type Fields,
  type InputRequest,
  type InputResponse,
  isObject,
} from '@starloom/core';
import { REJECTION, type RpcAnswer } from '@starloom/mcp-client';
import { failure } from '../reasons.ts';

/** What a request carries beside the call itself when it goes on with one. */
export interface Round {
  readonly requestState?: unknown;
  readonly inputResponses?: Fields;
  /** Of the task that an older agent made of the call: its result is waited for. */
  readonly taskId?: string;
}

/** Asks the caller what the agent wants to know; without any question the agent wants more time. */
export async function nextRound(result: Fields, { ask, signal }: CallContext): Promise<Round> {
  const { requestState } = result;
  const state = requestState === undefined ? {} : { requestState };
  const questions = questionsIn(result);
  if (questions.length === 0) {
    await waitForNextRound(signal);
    return state;
  }
  if (!ask) throw failure('input_required', { inputs: questions });
  const handle = requestState === undefined ? {} : { request_state: requestState };
  const responses = await ask(questions, { handle });
  return { ...state, inputResponses: toInputResponses(responses) };
}

/** Between two requests of an agent that wants to be asked again, without any question. */
const PACING_MS = 1_000;

async function waitForNextRound(signal: AbortSignal): Promise<void> {
  try {
    await delay(PACING_MS, undefined, { signal });
  } catch {
    throw FabricError.from(signal.reason);
  }
}

/** A question that an older agent asks by a request of its own. */
export async function askCaller(
  { id, method, params }: JSONRPCRequest,
  { ask }: CallContext,
  signal: AbortSignal | undefined,
): Promise<RpcAnswer | undefined> {
  const questions = [toQuestion(String(id), method, params)];
  const [response] = (await ask?.(questions, signal && { signal })) ?? [];
  return response && toRpcAnswer(method, response);
}

/** What a result that wants input asks, by the names that the agent gave. */
function questionsIn(result: Fields): InputRequest[] {
  const requests = isObject(result.inputRequests) ? result.inputRequests : {};
  return Object.entries(requests).flatMap(([id, asked]) => {
    if (!isObject(asked) || typeof asked.method !== 'string') return [];
    return toQuestion(id, asked.method, isObject(asked.params) ? asked.params : {});
  });
}

function toQuestion(id: string, method: string, params: Fields = {}): InputRequest {
  const { _meta, ...asked } = params;
  const native = { method, params: asked };
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
function toRpcAnswer(method: string, response: InputResponse): RpcAnswer {
  const isRejection = method !== 'elicitation/create' && response.action !== 'accept';
  return isRejection ? REJECTION : { result: toNative(response) };
}

/** What a caller of the same protocol answered, as it came; else in the form of an elicitation. */
function toNative({ action, content, native }: InputResponse): Fields {
  if (isObject(native)) return native;
  return action === 'accept' && content !== undefined ? { action, content } : { action };
}
