// A leaner lane for the frequent case: `tools/call` over HTTP, with and without a session. It says
// the same as the SDK at a fraction of its cost, which is what it is tested against.

import type { ServerResponse } from 'node:http';
import { LOG_LEVEL_META_KEY, SERVER_INFO_META_KEY } from '@modelcontextprotocol/server';
import { FabricError, type ProtocolNotification } from '@starloom/core';
import { isCallerLimit } from '../pipeline/call-limits.ts';
import type { Caller } from '../pipeline/call-request.ts';
import type { ToolResult } from '../pipeline/respond.ts';
import { HttpReply } from '../transports/answer.ts';
import type { Connection } from './connection.ts';
import { type LeanCall, MODERN_REVISION } from './lean-call.ts';
import { assertNoCredential } from './meta-credential.ts';
import { toProtocolError } from './protocol-error.ts';
import type { McpFace } from './server-factory.ts';
import { toCaller } from './to-caller.ts';

type Params = Record<string, unknown>;

/** What a session does for the calls of its client that come this way. */
export interface LeanSession {
  readonly version: string;
  /** What the client declared, as keys of `_meta` that agents of the current revision know. */
  readonly declared: Params;
  /** Whether the client wants log messages of this level. */
  readonly wantsLog: (level: unknown) => boolean;
  /** The answer of a request; `stop` is called when it is cancelled, or cannot be answered. */
  readonly begin: (id: LeanCall['id'], response: ServerResponse, stop: () => void) => HttpReply;
  readonly end: (id: LeanCall['id']) => void;
  /** For clients that can be asked: runs a call again with what they answer to its questions. */
  readonly answering?:
    | ((
        run: (answered: Params) => Promise<ToolResult>,
        id: LeanCall['id'],
        signal: AbortSignal,
      ) => Promise<ToolResult>)
    | undefined;
}

const MISSING_CAPABILITY = -32_021;
/** Older revisions have no code of its own for a resource that is not there. */
const RESOURCE_NOT_FOUND = -32_002;
const INVALID_PARAMS = -32_602;

/** Of older clients without a session: only that log messages may be sent to them. */
const NOTHING_DECLARED: Params = Object.freeze({ [LOG_LEVEL_META_KEY]: 'debug' });

export async function serveLeanCall(
  call: LeanCall,
  response: ServerResponse,
  connection: Connection,
  face: McpFace,
  session?: LeanSession,
): Promise<void> {
  const gone = new AbortController();
  const { signal } = gone;
  const onGone = () => gone.abort();
  const answer = session?.begin(call.id, response, onGone) ?? new HttpReply(response, { onGone });
  const run = (answered: Params) => {
    assertNoCredential(call.meta);
    const caller = callerOf(call, connection, signal, answer, session, answered);
    return call.tool.run(call.args, caller);
  };
  try {
    const result = await (session?.answering?.(run, call.id, signal) ?? run({}));
    answer.finish(toText(call, { result: toWire(result, call, face) }));
  } catch (thrown) {
    const failure = FabricError.from(thrown);
    if (isCallerLimit(failure)) connection.limited?.(failure);
    const { code, message, data } = toProtocolError(failure, connection.requestOf?.(call.id));
    const isOlder = call.era === 'legacy';
    const sent = isOlder && code === RESOURCE_NOT_FOUND ? INVALID_PARAMS : code;
    const error = { code: sent, message, ...(data !== undefined && { data }) };
    const isMissing = code === MISSING_CAPABILITY && !isOlder;
    answer.finish(toText(call, { error }), isMissing ? 400 : response.statusCode);
  } finally {
    session?.end(call.id);
  }
}

/** Every result of the current revision says that it is one, and by which server. */
function toWire({ _meta, ...result }: ToolResult, { era }: LeanCall, { version }: McpFace): Params {
  if (era === 'legacy') return { ...result, ...(_meta && { _meta }) };
  const serverInfo = { name: 'starloom', title: 'Starloom', version };
  return {
    resultType: 'complete',
    ...result,
    _meta: { ..._meta, [SERVER_INFO_META_KEY]: serverInfo },
  };
}

function toText({ id }: LeanCall, outcome: Params): string {
  return JSON.stringify({ ...outcome, jsonrpc: '2.0', id });
}

/** `answered` is what the client answered to questions of the agent. */
function callerOf(
  { id, name: tool, meta, era }: LeanCall,
  connection: Connection,
  signal: AbortSignal,
  answer: HttpReply,
  session: LeanSession | undefined,
  answered: Params,
): Caller {
  const isModern = era === 'modern';
  return toCaller(
    {
      tool,
      id,
      meta,
      declared: isModern ? meta : (session?.declared ?? NOTHING_DECLARED),
      protocolVersion: isModern ? MODERN_REVISION : olderVersion(connection.headers, session),
      ...answered,
      signal,
      ...(!isModern && { notify: (notification) => notify(answer, notification, session) }),
      send: (notification) => answer.send(toNotification(notification)),
    },
    session ? { ...connection, cut: () => answer.cut() } : connection,
  );
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
