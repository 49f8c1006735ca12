// The first check of every message, whatever it came over: size was bounded while reading; here it
// must be JSON, not too deep or too wide, free of keys that pollute prototypes and of numbers that
// cannot be kept, and JSON-RPC 2.0.

import { FabricError } from '@starloom/core';
import {
  endOfString,
  JsonCount,
  type JsonExcess,
  type JsonLimits,
  jsonExcess,
  membersIn,
} from '@starloom/wire';
import { failure } from '../reasons.ts';

interface FrameLimits extends JsonLimits {
  readonly batch: number;
}

const FRAME_LIMITS: FrameLimits = { depth: 64, nodes: 200_000, batch: 100 };

/** JSON-RPC's own codes for frames that are not even a request. */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;

/** JSON within the limits; BAD_INPUT with `details.rpc_code` where JSON-RPC has a code of its own. */
export function parseValue(text: string, limits: FrameLimits = FRAME_LIMITS): unknown {
  assertLimits(text, limits);
  const value = parseJson(text);
  assertClean(value, text, limits);
  return value;
}

/** Counts a text that comes in parts: BAD_INPUT for one that exceeds a limit, as soon as no id is read from it. */
export function openCount(limits: FrameLimits = FRAME_LIMITS): (part: string) => void {
  const count = new JsonCount(limits);
  let excess: JsonExcess | undefined;
  let length = 0;
  return (part) => {
    length += part.length;
    excess ??= count.add(part);
    if (excess && length > LARGE_TEXT) throw limitExceeded(excess, limits);
  };
}

/** The same of a large text that was counted while it came, with a wait for the next turn after each step. */
export async function parseInTurns(
  text: string,
  nextTurn: () => Promise<void> | undefined,
  limits: FrameLimits = FRAME_LIMITS,
): Promise<unknown> {
  await nextTurn();
  const value = parseJson(text);
  await nextTurn();
  assertClean(value, text, limits);
  await nextTurn();
  return value;
}

/** One JSON-RPC message or a batch of them, or BAD_INPUT. */
export function parseFrame(text: string, limits: FrameLimits = FRAME_LIMITS): unknown {
  const frame = parseValue(text, limits);
  assertFrame(frame, limits);
  return frame;
}

export function assertFrame(frame: unknown, limits: FrameLimits = FRAME_LIMITS): void {
  const messages = Array.isArray(frame) ? frame : [frame];
  if (messages.length === 0 || messages.length > limits.batch) {
    throw invalid(`a batch has 1 to ${limits.batch} messages`, 'batch');
  }
  for (const message of messages) assertMessage(message);
}

/** The id to answer with. */
export function idOf(frame: unknown): string | number | null {
  if (typeof frame !== 'object' || frame === null || !('id' in frame)) return null;
  const { id } = frame;
  const isKept = typeof id === 'number' && Math.abs(id) <= Number.MAX_SAFE_INTEGER;
  return typeof id === 'string' || isKept ? id : null;
}

/** Answers and notifications: a call that runs may need them, also while the gateway shuts down. */
export function belongsToCall(frame: unknown): boolean {
  const messages = Array.isArray(frame) ? frame : [frame];
  return messages.every(
    (message) => message?.jsonrpc === '2.0' && !('method' in message && 'id' in message),
  );
}

/** Where a refused text is not parsed again just to find its id. */
const LARGE_TEXT = 65_536;

/** The same for a text that was refused: one that is large or not JSON has none. */
export function refusedId(text: string, error: unknown): string | number | null {
  const isJson = FabricError.from(error).details.rpc_code !== PARSE_ERROR;
  return isJson && text.length <= LARGE_TEXT ? idOf(JSON.parse(text)) : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw failure('not_json', {}, { cause });
  }
}

function assertLimits(text: string, limits: FrameLimits): void {
  const excess = jsonExcess(text, limits);
  if (excess) throw limitExceeded(excess, limits);
}

/** Free of what JSON.parse takes, and we do not. */
function assertClean(value: unknown, text: string, limits: FrameLimits): void {
  const { keys, isLarge } = assertShape(value, limits);
  if (isLarge) assertExact(text);
  if (membersIn(text) > keys) throw invalid('a key twice in one object', 'duplicate_key');
}

/** Level by level rather than by recursion: a hostile depth must not cost the stack. */
function assertShape(frame: unknown, limits: FrameLimits): Shape {
  const shape: Shape = { nodes: 0, keys: 0, isLarge: false, below: [] };
  look(frame, shape);
  for (let depth = 1; shape.below.length > 0; depth += 1) {
    const level = shape.below;
    if (depth > limits.depth && level.some(isFilled)) throw limitExceeded('too_deep', limits);
    shape.below = [];
    for (const value of level) lookInside(value, shape);
    if (shape.nodes > limits.nodes) throw limitExceeded('too_many_values', limits);
  }
  return shape;
}

interface Shape {
  nodes: number;
  keys: number;
  isLarge: boolean;
  /** Objects and lists that are not looked into yet. */
  below: object[];
}

function isFilled(value: object): boolean {
  return Object.keys(value).length > 0;
}

function lookInside(value: object, shape: Shape): void {
  if (Array.isArray(value)) {
    for (const item of value) look(item, shape);
    return;
  }
  assertKeys(value);
  for (const key in value) {
    shape.keys += 1;
    look(value[key as keyof typeof value], shape);
  }
}

function look(value: unknown, shape: Shape): void {
  shape.nodes += 1;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw failure('not_json/number');
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) shape.isLarge = true;
  } else if (typeof value === 'object' && value !== null) {
    shape.below.push(value);
  }
}

/**
 * Whole numbers that a double would change. What is written as a fraction or power is meant as a
 * double, and so is what a double of that size is written as.
 */
function assertExact(text: string): void {
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '"') at = endOfString(text, at);
    if (character !== '-' && (character < '0' || character > '9')) continue;
    NUMBER.lastIndex = at;
    const [source = character] = NUMBER.exec(text) ?? [];
    at += source.length - 1;
    if (WHOLE.test(source) && !isExact(source)) {
      throw invalid(`${source} cannot be kept exactly; send it as a string`, 'inexact_number');
    }
  }
}

const NUMBER = /[-\d][-+.\deE]*/y;
const WHOLE = /^-?\d{16,}$/;

function isExact(source: string): boolean {
  const value = Number(source);
  return String(value) === source || BigInt(value) === BigInt(source);
}

function limitExceeded(excess: JsonExcess, { depth, nodes }: FrameLimits): FabricError {
  const what = excess === 'too_deep' ? `nested deeper than ${depth}` : `more than ${nodes} values`;
  return invalid(what, excess);
}

function assertKeys(value: object): void {
  if (Object.hasOwn(value, '__proto__')) throw invalid('key "__proto__"', 'forbidden_key');
  if (!Object.hasOwn(value, 'constructor')) return;
  const inner = (value as Record<'constructor', unknown>).constructor;
  if (typeof inner === 'object' && inner !== null && 'prototype' in inner) {
    throw invalid('key "constructor.prototype"', 'forbidden_key');
  }
}

/** BAD_INPUT for what is no JSON-RPC message. */
export function assertMessage(message: unknown): void {
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

function invalid(what: string, reason: string): FabricError {
  return new FabricError('BAD_INPUT', `Not an acceptable JSON-RPC message: ${what}`, {
    details: { reason, rpc_code: INVALID_REQUEST },
  });
}
