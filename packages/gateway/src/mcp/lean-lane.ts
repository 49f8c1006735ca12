// A leaner lane for the frequent cases: `tools/call` over HTTP, with and without a session, and
// `tools/list` of the current revision (`lean-list.ts`). It says the same as the SDK at a fraction of
// its cost, which is what it is tested against.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server';
import { FabricError, isObject, type ProtocolNotification } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { isCallerLimit } from '../pipeline/limits.ts';
import type { ToolResult } from '../pipeline/respond.ts';
import type { GatewayTools } from '../tools/catalog.ts';
import type { Tool } from '../tools/tool.ts';
import { HttpReply } from '../transports/reply.ts';
import { type Connection, toProtocolError } from './connection.ts';
import type { McpFace } from './server-factory.ts';
import { assertNoCredential, type McpRequest, MODERN_REVISION, toCaller } from './to-caller.ts';

type Params = Record<string, unknown>;
type RequestId = string | number;

/** What a session does for the calls of its client that come this way. */
export interface LeanSession {
  readonly version: string;
  /** What the client declared, as keys of `_meta` that agents of the current revision know. */
  readonly declared: Params;
  /** Whether the client wants log messages of this level. */
  readonly wantsLog: (level: unknown) => boolean;
  /** The answer of a request; `stop` is called when it is cancelled, or cannot be answered. */
  readonly begin: (id: RequestId, response: ServerResponse, stop: () => void) => HttpReply;
  readonly end: (id: RequestId) => void;
  /** For clients that can be asked: runs a call again with what they answer to its questions. */
  readonly answering?:
    | ((
        run: (answered: Params) => Promise<ToolResult>,
        id: RequestId,
        signal: AbortSignal,
      ) => Promise<ToolResult>)
    | undefined;
}

/** A `tools/call` as the client sent it. */
export interface ToolCallMessage {
  readonly id: RequestId;
  readonly params: {
    readonly name: string;
    readonly arguments?: Params;
    readonly _meta?: Params;
  };
}

const MISSING_CAPABILITY = -32_021;
/** Older revisions have no code of its own for a resource that is not there. */
const RESOURCE_NOT_FOUND = -32_002;
const INVALID_PARAMS = -32_602;

/** Of older clients without a session: only that log messages may be sent to them. */
const NOTHING_DECLARED: Params = Object.freeze({ [LOG_LEVEL_META_KEY]: 'debug' });

export async function serveLeanCall(
  tool: Tool,
  { id, params }: ToolCallMessage,
  response: ServerResponse,
  connection: Connection,
  face: McpFace,
  session?: LeanSession,
): Promise<void> {
  const gone = new AbortController();
  const { signal } = gone;
  const onGone = () => gone.abort();
  const isModern = connection.headers['mcp-protocol-version'] === MODERN_REVISION;
  const answer = session?.begin(id, response, onGone) ?? new HttpReply(response, { onGone });
  const { name, arguments: args, _meta: meta = NO_META } = params;
  const run = (answered?: Params) => {
    assertNoCredential(meta);
    const request: McpRequest = {
      tool: name,
      requestId: id,
      meta,
      declared: isModern ? meta : (session?.declared ?? NOTHING_DECLARED),
      protocolVersion: isModern ? MODERN_REVISION : olderVersion(connection.headers, session),
      requestState: answered?.requestState,
      inputResponses: answered?.inputResponses,
      signal,
      notify: isModern ? undefined : (said) => notify(answer, said, session),
      send: (notification) => answer.send(toNotification(notification)),
    };
    const own = session ? { ...connection, cut: () => answer.cut() } : connection;
    return tool.run(args, toCaller(request, own));
  };
  try {
    const result = await (session?.answering?.(run, id, signal) ?? run());
    answer.finish(JSON.stringify({ result: toWire(result, isModern, face), jsonrpc: '2.0', id }));
  } catch (thrown) {
    const failure = FabricError.from(thrown);
    if (isCallerLimit(failure)) connection.limited?.(failure);
    const { code, message, data } = toProtocolError(failure, connection.requestOf?.(id));
    const sent = !isModern && code === RESOURCE_NOT_FOUND ? INVALID_PARAMS : code;
    const error = { code: sent, message, ...(data !== undefined && { data }) };
    const isMissing = code === MISSING_CAPABILITY && isModern;
    const text = JSON.stringify({ error, jsonrpc: '2.0', id });
    answer.finish(text, isMissing ? 400 : response.statusCode);
  } finally {
    session?.end(id);
  }
}

/** Every result of the current revision says that it is one, and by which server. */
export function toWire(result: ToolResult, isModern: boolean, { version }: McpFace): Params {
  if (!isModern) return result;
  const { resultType = 'complete' } = result;
  const serverInfo = { name: 'starloom', title: 'Starloom', version };
  return { ...result, resultType, _meta: { ...result._meta, [SERVER_INFO_META_KEY]: serverInfo } };
}

/** Older clients are sent log messages without asking, but may say which they want. */
async function notify(
  answer: HttpReply,
  { method, params = {} }: ProtocolNotification,
  session: LeanSession | undefined,
): Promise<void> {
  if (method === 'notifications/progress') return answer.send(toNotification({ method, params }));
  if (method !== 'notifications/message' || session?.wantsLog(params.level) === false) return;
  const { level, data, logger } = params;
  const said = { level, data, ...(typeof logger === 'string' && { logger }) };
  await answer.send(toNotification({ method, params: said }));
}

function toNotification(notification: { readonly method: string; readonly params?: unknown }) {
  return JSON.stringify({ jsonrpc: '2.0', ...notification });
}

function olderVersion(headers: Connection['headers'], session: LeanSession | undefined) {
  const version = session?.version ?? headers['mcp-protocol-version'];
  return typeof version === 'string' ? version : undefined;
}

// Which requests the lean lane serves: `tools/call` over HTTP with everything right, in the current
// revision and in older ones. Whatever is not plainly right is left to the SDK, and so is what wants
// more than a call.

const PARAMS = new Set(['name', 'arguments', '_meta']);
/** Those that the SDK knows; its own list would load all of it. */
export const OLDER_REVISIONS: ReadonlySet<unknown> = new Set([
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
]);
/** Of `_meta`: only the current revision knows them. */
const RESERVED = 'io.modelcontextprotocol/';
const NO_META: Params = Object.freeze({});

/** The tool of a request for this lane, which is a `ToolCallMessage` then. */
export function findLeanTool(
  body: unknown,
  headers: IncomingHttpHeaders,
  catalog: Pick<GatewayTools, 'find'>,
  principal: Principal,
): Tool | undefined {
  if (!isObject(body) || body.method !== 'tools/call' || !isObject(body.params)) return undefined;
  const { id, params } = body;
  const { name, arguments: args, _meta: meta = NO_META } = params;
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  if (typeof name !== 'string' || !isObject(meta) || !hasOnly(params, PARAMS)) return undefined;
  if (args !== undefined && !isObject(args)) return undefined;
  if (!acceptsBoth(headers)) return undefined;
  const isModern = headers['mcp-protocol-version'] === MODERN_REVISION;
  if (!(isModern ? isPlain(headers, 'tools/call', name, meta) : isPlainOlder(headers, meta)))
    return undefined;
  return catalog.find(name, principal);
}

export function acceptsBoth({ accept = '' }: IncomingHttpHeaders): boolean {
  return accept.includes('application/json') && accept.includes('text/event-stream');
}

/** Header and body say the same; it says who it is and what it can, and wants no log messages. */
export function isPlain(
  headers: IncomingHttpHeaders,
  method: string,
  name: string | undefined,
  meta: Params,
): boolean {
  const info = meta[CLIENT_INFO_META_KEY];
  return (
    meta[PROTOCOL_VERSION_META_KEY] === MODERN_REVISION &&
    headers['mcp-method'] === method &&
    headers['mcp-name'] === name &&
    isObject(info) &&
    typeof info.name === 'string' &&
    typeof info.version === 'string' &&
    isObject(meta[CLIENT_CAPABILITIES_META_KEY]) &&
    meta[LOG_LEVEL_META_KEY] === undefined
  );
}

/** Without a header it is 2025-03-26. */
function isPlainOlder(headers: IncomingHttpHeaders, meta: Params): boolean {
  const version = headers['mcp-protocol-version'];
  if (version !== undefined && !OLDER_REVISIONS.has(version)) return false;
  const { progressToken: token } = meta;
  if (token !== undefined && typeof token !== 'string' && !Number.isInteger(token)) return false;
  return !Object.keys(meta).some((key) => key.startsWith(RESERVED));
}

export function hasOnly(value: Params, keys: ReadonlySet<string>): boolean {
  return Object.keys(value).every((key) => keys.has(key));
}
