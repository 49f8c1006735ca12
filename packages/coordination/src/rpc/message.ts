// JSON-RPC 2.0 messages.

import { ERRORS, FabricError, type JsonObject } from '@starloom/core';
import { isJsonObject } from '../json/json.ts';
import { failure, REASONS, type Reason } from '../reasons.ts';

export type RpcId = string | number | null;

export interface RpcRequest {
  /** Absent for a notification, which gets no answer. */
  readonly id?: RpcId;
  readonly method: string;
  readonly params: JsonObject;
}

export type RpcResponse =
  | { readonly jsonrpc: '2.0'; readonly id: RpcId; readonly result: unknown }
  | { readonly jsonrpc: '2.0'; readonly id: RpcId; readonly error: RpcError };

export function answer(id: RpcId, result: unknown): RpcResponse {
  return { jsonrpc: '2.0', id, result };
}

export function errorAnswer(id: RpcId, error: RpcError): RpcResponse {
  return { jsonrpc: '2.0', id, error };
}

/** The request, or the answer to something that is none; no answer to a notification. */
export function parseRequest(message: unknown): RpcRequest | RpcResponse | undefined {
  if (!isJsonObject(message)) return invalid(null, 'A request is a JSON object');
  const { id } = message;
  if (!isId(id)) return invalid(null, 'An id is a string, a number or null');
  if (message.jsonrpc !== '2.0') return invalid(id ?? null, '"jsonrpc" must be "2.0"');
  if (typeof message.method !== 'string') return invalid(id ?? null, '"method" must be a string');
  const { method, params = {} } = message;
  if (!isJsonObject(params)) {
    if (id === undefined) return undefined;
    const error = protocolError(-32602, 'Parameters are given by name', 'send params as an object');
    return errorAnswer(id, error);
  }
  return id === undefined ? { method, params } : { id, method, params };
}

export function isResponse(message: RpcRequest | RpcResponse): message is RpcResponse {
  return 'jsonrpc' in message;
}

export function invalid(id: RpcId, details: string, fix = EXAMPLE): RpcResponse {
  return errorAnswer(id, protocolError(-32600, details, fix));
}

const EXAMPLE = 'send {"jsonrpc": "2.0", "id": 1, "method": "mcp.discover", "params": {}}';

function isId(id: unknown): id is RpcId | undefined {
  return id === undefined || id === null || typeof id === 'number' || typeof id === 'string';
}

/** What a message is answered with. The text is made when it is asked for, so ask once. */
export interface RpcReply {
  readonly answer: RpcResponse | readonly RpcResponse[];
  toText(): string;
}

export function toReply(answer: RpcResponse): RpcReply {
  return { answer, toText: () => toText(answer) };
}

/** The answers to a batch, until they are more than may be asked for at once. */
export class BatchReply {
  readonly #most: number;
  readonly #answers: RpcResponse[] = [];
  readonly #texts: string[] = [];
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(response: RpcResponse): void {
    const text = toText(response);
    this.#answers.push(response);
    this.#texts.push(text);
    this.#bytes += Buffer.byteLength(text);
  }

  /** Aborted when there are enough: every later request is answered with its reason. */
  get enough(): AbortSignal | undefined {
    return this.#bytes < this.#most ? undefined : AbortSignal.abort(this.#spent());
  }

  finish(): RpcReply | undefined {
    if (this.#answers.length === 0) return undefined;
    return { answer: this.#answers, toText: () => `[${this.#texts.join(',')}]` };
  }

  #spent(): FabricError {
    const fix = 'it was not done: ask for it in a batch of its own, or by itself';
    return failure('quota', { limit: 'batch_answer_bytes', allowed: this.#most, fix });
  }
}

/** Every request is answered, also one for more than a text can hold. */
function toText(response: RpcResponse): string {
  try {
    return JSON.stringify(response);
  } catch (cause) {
    const error = failure('unwritable_answer', {}, { cause });
    return JSON.stringify(errorAnswer(response.id, toRpcError(error)));
  }
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: { readonly details: string; readonly [field: string]: unknown };
}

const RPC_TITLES: Readonly<Record<number, string>> = {
  [-32600]: 'Invalid Request',
  [-32601]: 'Method not found',
  [-32602]: 'Invalid params',
  [-32603]: 'Internal error',
  [-32001]: 'Not authorised',
  [-32004]: 'Not found',
  [-32013]: 'Conflict',
  [-32014]: 'Lock required or held',
  [-32015]: 'Stale token or epoch',
  [-32016]: 'Quota exceeded',
};

/** The JSON-RPC error of anything thrown; the text of a bug stays in the log. */
export function toRpcError(thrown: unknown): RpcError {
  const error = FabricError.from(thrown);
  const code = rpcCodeOf(error);
  const { message: details, details: fields, code: fabric } = error;
  const message = RPC_TITLES[code] ?? details;
  return { code, message, data: { ...fields, details, code: fabric } };
}

function protocolError(code: number, details: string, fix: string): RpcError {
  const data = { reason: PROTOCOL_REASONS[code], details, fix };
  return { code, message: RPC_TITLES[code] ?? details, data };
}

const PROTOCOL_REASONS: Readonly<Record<number, string>> = {
  [-32600]: 'not_json_rpc',
  [-32602]: 'bad_params',
};

function rpcCodeOf({ code, details }: FabricError): number {
  const { reason } = details;
  if (typeof reason !== 'string' || !Object.hasOwn(REASONS, reason)) return ERRORS[code].rpc;
  const refusal = REASONS[reason as Reason];
  return refusal.code === code ? refusal.rpc : ERRORS[code].rpc;
}
