// What a client can do and wants to hear, in the words of the current revision: its agents want to
// know that with every request. Older clients said it once, when they connected, if at all.

import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  LOG_LEVEL_META_KEY,
  type LoggingLevel,
  type RequestId,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import {
  createTrace,
  FabricError,
  type Manifest,
  type Origin,
  type ProtocolNotification,
  QUESTION_MS,
  toMeta,
} from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { metaFor, readOrigin } from '../pipeline/origin.ts';
import type { ToolResult } from '../pipeline/respond.ts';
import { type Connection, requestOf } from './connection.ts';

/** As the keys of `_meta` that say it. */
export function declaredBy(server: Server, { mcpReq }: ServerContext): Record<string, unknown> {
  if (mcpReq.envelope) return mcpReq.envelope;
  const capabilities = server.getClientCapabilities();
  return {
    [LOG_LEVEL_META_KEY]: 'debug',
    ...(capabilities && { [CLIENT_CAPABILITIES_META_KEY]: capabilities }),
  };
}

/**
 * Passes on what an agent says meanwhile, as fast as the client reads: progress, and log messages
 * where the client asked for them. Anything else an agent may say is not about this request.
 */
export async function notifyClient(
  { room }: Connection,
  { mcpReq }: ServerContext,
  { method, params = {} }: ProtocolNotification,
): Promise<void> {
  await room();
  if (method === 'notifications/progress') return mcpReq.notify({ method, params });
  if (method !== 'notifications/message') return;
  const { level, data, logger } = params;
  await mcpReq.log(level as LoggingLevel, data, ...(typeof logger === 'string' ? [logger] : []));
}

// Questions to the client of a call, in revisions before 2026-07-28: requests of the server, sent on
// the stream of the call that they belong to.

type Params = Record<string, unknown>;

/** What the client can be asked, by the capability that it declares for it. */
const CAPABILITY_OF = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const satisfies Record<string, keyof ClientCapabilities>;

type ClientMethod = keyof typeof CAPABILITY_OF;

interface ClientQuestion {
  readonly method: ClientMethod;
  readonly params?: Params | undefined;
}

export interface AskOptions {
  /** The request of the client in which it is asked. */
  readonly requestId: RequestId;
  readonly signal: AbortSignal;
  /** How long the client may take; as long as any question is open by default. */
  readonly timeoutMs?: number;
}

/** What the client declared when it connected; nothing is known without a connection or session. */
export function declaredCapabilities(server: Server): ClientCapabilities | undefined {
  return server.getClientCapabilities();
}

/** Whether the client declared that it answers such requests. */
export function canAsk(server: Server, method: string): method is ClientMethod {
  if (!Object.hasOwn(CAPABILITY_OF, method)) return false;
  return declaredCapabilities(server)?.[CAPABILITY_OF[method as ClientMethod]] !== undefined;
}

/** Whether there is anything that the client answers. */
export function canAskAnything(server: Server): boolean {
  const declared = declaredCapabilities(server);
  return Object.values(CAPABILITY_OF).some((capability) => declared?.[capability] !== undefined);
}

/** Asks the client, and gives its answer as it came. Rejects with its JSON-RPC error. */
export async function askClient(
  server: Server,
  { method, params = {} }: ClientQuestion,
  { requestId, signal, timeoutMs = QUESTION_MS }: AskOptions,
): Promise<Params> {
  const options = { relatedRequestId: requestId, signal, timeout: timeoutMs };
  const request = { method, params: withElicitationId(params) };
  return (await server.request(request as never, options)) as Params;
}

/** 2025-11-25 wants one for links; the current revision has none. */
function withElicitationId(params: Params): Params {
  const isMissing = params.mode === 'url' && params.elicitationId === undefined;
  return isMissing ? { ...params, elicitationId: crypto.randomUUID() } : params;
}

// An agent of the current revision answers a call with what it needs to know (`input_required`), and
// is called again with the answers. An older client does not know that: it is asked here.

interface InputsOptions {
  readonly server: Server;
  readonly requestId: RequestId;
  readonly signal: AbortSignal;
}

/** How often an agent may ask in one call. */
export const MAX_ROUNDS = 100;

/** Runs a call until its result is one, with what the client answers in between. */
export async function answerInputs(
  run: (answered: Params) => Promise<ToolResult>,
  options: InputsOptions,
): Promise<ToolResult> {
  let result = await run({});
  for (let round = 0; result.resultType === 'input_required'; round += 1) {
    if (round === MAX_ROUNDS)
      return toFailedResult(`the agent asked more than ${MAX_ROUNDS} times`);
    const { inputRequests = {}, requestState } = result as Params;
    const asked = Object.entries(inputRequests as Record<string, Params>);
    const refused = asked.find(([, { method }]) => !canAsk(options.server, String(method)));
    if (refused) return toFailedResult(`the client does not answer ${String(refused[1].method)}`);
    try {
      const inputResponses = await askAll(asked, options);
      result = await run({ inputResponses, ...(requestState !== undefined && { requestState }) });
    } catch (error) {
      if (options.signal.aborted) throw error;
      return toFailedResult(FabricError.from(error).message);
    }
  }
  return result;
}

/** One that fails ends the others. */
async function askAll(asked: readonly [string, Params][], options: InputsOptions): Promise<Params> {
  const { server, requestId, signal: parent } = options;
  const control = new AbortController();
  const signal = AbortSignal.any([parent, control.signal]);
  try {
    const answers = asked.map(async ([key, question]) => [
      key,
      await askClient(server, question as never, { requestId, signal }),
    ]);
    return Object.fromEntries(await Promise.all(answers));
  } finally {
    control.abort();
  }
}

function toFailedResult(why: string): ToolResult {
  const text = `The agent needs an answer that it did not get: ${why}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

/** As MCP orders them. */
const LEVELS: readonly unknown[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

/** Which log messages a client wants: all, until it says from which level on. */
export class ClientLogLevel {
  #least = 0;

  /** Levels that MCP does not know change nothing. */
  set(level: unknown): void {
    const at = LEVELS.indexOf(level);
    if (at >= 0) this.#least = at;
  }

  wants(level: unknown): boolean {
    return LEVELS.indexOf(level) >= this.#least;
  }
}

/** A request about resources, prompts or skills, as it is passed on to agents. */
export interface RelayRequest {
  readonly principal: Principal;
  readonly origin: Origin;
  readonly method: string;
  readonly params: Params;
  /** As the client sent it. */
  readonly meta: Params;
  /** Of this hop: the trace, the token for progress and the level of log messages. */
  readonly hopMeta: Params;
  readonly clientCapabilities: Params | undefined;
  readonly signal: AbortSignal;
  readonly notify: (notification: ProtocolNotification) => Promise<void>;
}

export function toRelayRequest(
  server: Server,
  connection: Connection,
  request: unknown,
  context: ServerContext,
): RelayRequest {
  const { mcpReq } = context;
  const { params = {} } = request as { params?: Params };
  const meta: Params = mcpReq._meta ?? {};
  const { headers, principal } = connection;
  const origin = readOrigin({ headers, meta, principal });
  const trace = requestOf(context, connection)?.trace ?? createTrace(origin.traceId);
  const declared = declaredBy(server, context);
  const logLevel = declared[LOG_LEVEL_META_KEY];
  const { inputResponses } = mcpReq;
  const requestState = mcpReq.requestState();
  return {
    principal,
    origin,
    method: mcpReq.method,
    params: {
      ...params,
      ...(inputResponses && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    },
    meta,
    hopMeta: {
      ...(meta.progressToken !== undefined && { progressToken: meta.progressToken }),
      ...(logLevel !== undefined && { [LOG_LEVEL_META_KEY]: logLevel }),
      ...toMeta(trace, origin.hop),
    },
    clientCapabilities: declared[CLIENT_CAPABILITIES_META_KEY] as Params | undefined,
    signal: mcpReq.signal,
    notify: (notification) => notifyClient(connection, context, notification),
  };
}

export function toAgentMeta({ meta, hopMeta }: RelayRequest, manifest: Manifest): Params {
  return { ...metaFor(manifest, meta), ...hopMeta };
}
