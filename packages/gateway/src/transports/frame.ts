// The first check of every message, whatever it came over: size was bounded while reading; here it
// must be JSON, not too deep or too wide, free of keys that pollute prototypes and of numbers that
// cannot be kept, and JSON-RPC 2.0.

import { FabricError } from '@starloom/core';

export interface FrameLimits {
  readonly depth: number;
  readonly nodes: number;
  readonly batch: number;
}

export const FRAME_LIMITS: FrameLimits = { depth: 64, nodes: 200_000, batch: 100 };

/** JSON-RPC's own codes for frames that are not even a request. */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;

/** JSON within the limits; BAD_INPUT with `details.rpc_code` where JSON-RPC has a code of its own. */
export function parseValue(text: string, limits: FrameLimits = FRAME_LIMITS): unknown {
  const value = parseJson(text);
  if (assertShape(value, limits) === 'with_large_numbers') assertExact(text);
  return value;
}

/** One JSON-RPC message or a batch of them, or BAD_INPUT. */
export function parseFrame(text: string, limits: FrameLimits = FRAME_LIMITS): unknown {
  const frame = parseValue(text, limits);
  const messages = Array.isArray(frame) ? frame : [frame];
  if (messages.length === 0 || messages.length > limits.batch) {
    throw invalid(`a batch has 1 to ${limits.batch} messages`, 'batch');
  }
  for (const message of messages) assertMessage(message);
  return frame;
}

/** The id to answer with. */
export function idOf(frame: unknown): string | number | null {
  if (typeof frame !== 'object' || frame === null || !('id' in frame)) return null;
  const { id } = frame;
  const isKept = typeof id === 'number' && Math.abs(id) <= Number.MAX_SAFE_INTEGER;
  return typeof id === 'string' || isKept ? id : null;
}

/** The same for a text that was refused: what is not JSON has none. */
export function refusedId(text: string, error: unknown): string | number | null {
  const isJson = FabricError.from(error).details.rpc_code !== PARSE_ERROR;
  return isJson ? idOf(JSON.parse(text)) : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notJson('The message is not JSON', cause);
  }
}

/** Level by level rather than by recursion: a hostile depth must not cost the stack. */
function assertShape(frame: unknown, limits: FrameLimits): 'plain' | 'with_large_numbers' {
  let level: unknown[] = [frame];
  let nodes = 0;
  let isLarge = false;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limits.depth) throw invalid(`nested deeper than ${limits.depth}`, 'too_deep');
    nodes += level.length;
    if (nodes > limits.nodes) throw invalid(`more than ${limits.nodes} values`, 'too_many_values');
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'number') {
        if (!Number.isFinite(value)) throw notJson('A number is beyond the range of a double');
        if (Math.abs(value) > Number.MAX_SAFE_INTEGER) isLarge = true;
      }
      if (typeof value !== 'object' || value === null) continue;
      if (!Array.isArray(value)) assertKeys(value);
      for (const child of Object.values(value)) next.push(child);
    }
    level = next;
  }
  return isLarge ? 'with_large_numbers' : 'plain';
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/**
 * Whole numbers that a double would change. What is written as a fraction or power is meant as a
 * double, and so is what a double of that size is written as.
 */
function assertExact(text: string): void {
  const check: Reviver = (_, value, { source = '' }) => {
    if (typeof value !== 'number' || !/^-?\d+$/.test(source)) return value;
    if (String(value) === source || BigInt(value) === BigInt(source)) return value;
    throw invalid(`${source} cannot be kept exactly; send it as a string`, 'inexact_number');
  };
  JSON.parse(text, check as (key: string, value: unknown) => unknown);
}

function assertKeys(value: object): void {
  if (Object.hasOwn(value, '__proto__')) throw invalid('key "__proto__"', 'forbidden_key');
  if (!Object.hasOwn(value, 'constructor')) return;
  const inner = (value as Record<'constructor', unknown>).constructor;
  if (typeof inner === 'object' && inner !== null && 'prototype' in inner) {
    throw invalid('key "constructor.prototype"', 'forbidden_key');
  }
}

function assertMessage(message: unknown): void {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw invalid('a message is an object', 'not_json_rpc');
  }
  const { jsonrpc, method, id, params, result, error } = message as Record<string, unknown>;
  if (jsonrpc !== '2.0') throw invalid('"jsonrpc" must be "2.0"', 'not_json_rpc');
  const isResponse = method === undefined && (result !== undefined || error !== undefined);
  if (typeof method !== 'string' && !isResponse) throw invalid('no "method"', 'not_json_rpc');
  if (id !== undefined && typeof id !== 'string' && !Number.isFinite(id)) {
    throw invalid('"id" must be a string or a number', 'not_json_rpc');
  }
  if (params !== undefined && (typeof params !== 'object' || params === null)) {
    throw invalid('"params" must be an object', 'not_json_rpc');
  }
}

function notJson(message: string, cause?: unknown): FabricError {
  const details = { reason: 'not_json', rpc_code: PARSE_ERROR };
  return new FabricError('BAD_INPUT', message, { details, cause });
}

function invalid(what: string, reason: string): FabricError {
  return new FabricError('BAD_INPUT', `Not an acceptable JSON-RPC message: ${what}`, {
    details: { reason, rpc_code: INVALID_REQUEST },
  });
}
