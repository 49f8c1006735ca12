// One request of an MCP client as the caller that the pipeline knows, whichever lane it came by.

import type { IncomingHttpHeaders } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server';
import { type GivenInput, givenInputSchema, isObject, MANDATE, toFields } from '@starloom/core';
import { denied, type Principal } from '@starloom/identity';
import {
  findParamHeaders,
  type ParamHeader,
  toParamHeaders,
} from '@starloom/mcp-client/param-headers';
import {
  type RisingProgress,
  toGivenInputs,
  toInputRequired,
  toProgress,
} from '@starloom/mcp-client/server';
import { z } from 'zod';
import { TASKS_EXTENSION } from '../jobs/run-as-job.ts';
import type { Caller } from '../pipeline/call-request.ts';
import { META_CONVERSATION } from '../pipeline/respond.ts';
import { failure } from '../reasons.ts';
import type { GatewayTools } from '../tools/catalog.ts';
import type { Connection } from './connection.ts';
import { toCreatedTask } from './to-task.ts';

type Params = Readonly<Record<string, unknown>>;

/** What a lane knows of a request beside its connection. */
export interface McpRequest
  extends Pick<Caller, 'tool' | 'requestId' | 'meta' | 'protocolVersion' | 'signal' | 'notify'> {
  /** What the client declared of itself, as the keys of `_meta` that say it. */
  readonly declared: Params;
  /** Of a request that brings answers. */
  readonly requestState?: unknown;
  readonly inputResponses?: unknown;
  /** Sends a notification on the stream of this request. */
  readonly send: (notification: ReturnType<typeof toProgress>) => Promise<void>;
}

export const MODERN_REVISION = '2026-07-28';
const META_INPUTS = 'io.starloom/inputs';

/** Over HTTP and WebSocket the credential is in the headers, and one in `_meta` would be a second. */
export const META_PASSPORT = 'io.starloom/passport';

const inputsSchema = z.array(givenInputSchema).max(32);

export function toCaller(request: McpRequest, connection: Connection): Caller {
  const { tool, requestId, meta, declared, protocolVersion, signal, notify, send } = request;
  const { principal, transport, socket, headers, cut } = connection;
  const { progressToken } = meta;
  const wantsEvents = typeof progressToken === 'string' || typeof progressToken === 'number';
  const capabilities = declared[CLIENT_CAPABILITIES_META_KEY];
  const { id: requestState, last = 0 } = readState(request.requestState);
  const rising = { last };
  return {
    principal,
    transport,
    socket,
    headers,
    meta,
    cut,
    signal,
    tool,
    declared,
    protocolVersion,
    requestId,
    request: requestId === undefined ? undefined : connection.requestOf?.(requestId),
    conversation: conversationOf(request, requestState),
    notify,
    // Every caller has the same fields: what reads them is faster for it.
    toInputRequired: isObject(capabilities)
      ? (inputs, conversationId) =>
          toInputRequired(inputs, toState(conversationId, rising), capabilities)
      : undefined,
    toTask:
      protocolVersion === MODERN_REVISION && declaresTasks(declared) ? toCreatedTask : undefined,
    send: wantsEvents
      ? (event, place) => send(toProgress(event, progressToken, rising, place))
      : undefined,
  };
}

/** The client brings it back with its answers: progress goes on from where it was. */
function toState(conversationId: string, { last }: RisingProgress): string {
  return last === 0 ? conversationId : `${conversationId}~${last}`;
}

function readState(state: unknown): { readonly id: unknown; readonly last?: number } {
  if (typeof state !== 'string') return { id: state };
  const at = state.lastIndexOf('~');
  const last = at === -1 ? 0 : Number(state.slice(at + 1));
  const isOurs = last > 0 && last <= Number.MAX_SAFE_INTEGER;
  return isOurs ? { id: state.slice(0, at), last } : { id: state };
}

/** By the protocol's own fields, or by ours where a client has none. */
function conversationOf({ meta, inputResponses }: McpRequest, requestState: unknown) {
  const id = requestState ?? meta[META_CONVERSATION];
  const given = inputResponses === undefined ? undefined : toGivenInputs(inputResponses);
  const inputs = given ?? inputsIn(meta);
  return { id: typeof id === 'string' ? id : undefined, inputs };
}

function inputsIn({ [META_INPUTS]: inputs }: Params): GivenInput[] | undefined {
  return inputs === undefined ? undefined : inputsSchema.safeParse(inputs).data;
}

/** Whether a client declared the extension, with this request or when it connected. */
export function declaresTasks(declared: Params): boolean {
  const { extensions } = toFields(declared[CLIENT_CAPABILITIES_META_KEY]);
  return toFields(extensions)[TASKS_EXTENSION] !== undefined;
}

export function assertNoCredential(meta: Caller['meta']): void {
  if (meta[META_PASSPORT] !== undefined || meta[MANDATE.meta] !== undefined)
    throw severalCredentials();
}

export function severalCredentials() {
  const fix = 'send one credential: over HTTP and WebSocket in the headers of the request';
  return denied('several_credentials', 'The request has two credentials', fix);
}

// Arguments that a tool wants mirrored in headers (`x-mcp-header`, revision 2026-07-28). A proxy
// between client and gateway may have acted on the header, so it must say what the agent will get.

const TASK_METHODS: readonly unknown[] = ['tasks/get', 'tasks/update', 'tasks/cancel'];

interface ToolCall {
  readonly method?: unknown;
  readonly params?: {
    readonly name?: unknown;
    readonly taskId?: unknown;
    readonly arguments?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

/** By the schema that declares them. */
const declarations = new WeakMap<object, readonly ParamHeader[]>();

/** Throws BAD_INPUT for a call whose headers and arguments disagree. */
export function assertParamHeaders(
  catalog: Pick<GatewayTools, 'find'>,
  body: unknown,
  headers: IncomingHttpHeaders,
  principal: Principal,
): void {
  const { method, params } = (body ?? {}) as ToolCall;
  if (TASK_METHODS.includes(method)) assertTaskName(params?.taskId, headers);
  if (method !== 'tools/call' || typeof params?.name !== 'string') return;
  const isOlder = params._meta?.[PROTOCOL_VERSION_META_KEY] === undefined;
  const schema = isOlder ? undefined : catalog.find(params.name, principal)?.definition.inputSchema;
  if (!schema) return;
  const declared = declaredIn(schema);
  if (declared.length === 0) return;
  const mirrored = toParamHeaders(declared, params.arguments);
  for (const [name, value] of Object.entries(mirrored)) {
    const given = headers[name];
    if (typeof given !== 'string' || decodeHeader(given) !== decodeHeader(value))
      throw failure('header_mismatch', { header: name });
  }
}

/** Requests about a task name it in `Mcp-Name`, as calls name their tool. */
function assertTaskName(taskId: unknown, headers: IncomingHttpHeaders): void {
  const given = headers['mcp-name'];
  if (typeof taskId !== 'string') return;
  if (typeof given === 'string' && decodeHeader(given) === taskId) return;
  throw failure('header_mismatch/task');
}

function declaredIn(schema: object): readonly ParamHeader[] {
  const known = declarations.get(schema);
  if (known) return known;
  const found = findParamHeaders(schema) ?? [];
  declarations.set(schema, found);
  return found;
}

/** `undefined` for what claims to be base64 and is not. */
function decodeHeader(value: string): string | undefined {
  const [, data] = /^=\?base64\?(.*)\?=$/s.exec(value) ?? [];
  if (data === undefined) return value;
  const bytes = Buffer.from(data, 'base64');
  return bytes.toString('base64') === data ? bytes.toString('utf8') : undefined;
}
