// Agents that speak MCP, of either era, over HTTP or as child processes.

import {
  CLIENT_CAPABILITIES_META_KEY,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type ServerCapabilities,
} from '@modelcontextprotocol/client';
import {
  type Adapter,
  type AdapterFactory,
  type AgentDescription,
  bounded,
  type CallContext,
  type Envelope,
  type EventBody,
  FabricError,
  type Fields,
  type FinalData,
  findCapability,
  type Health,
  isObject,
  type Log,
  type Manifest,
  toHealthReason,
} from '@starloom/core';
import { deadlineSignal, streamTurns } from '@starloom/wire';
import { unanswered } from '../upstream/unanswered.ts';
import { toToolArguments } from './arguments.ts';
import type { McpConnection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import type { Headers } from './http-headers.ts';
import { isQuestion } from './json-rpc.ts';
import { type Lane, Lanes } from './lanes.ts';
import { LISTEN } from './older-subscriptions.ts';
import { paced } from './pacing.ts';
import { toParamHeaders } from './param-headers.ts';
import { questionsIn, toCancel, toInputResponses, toQuestion, toRpcAnswer } from './questions.ts';
import type { ListKind, McpRelay, RelayOptions } from './relay.ts';
import { Requests, throwUnsent } from './requests.ts';
import { rpcErrorOf } from './rpc-failure.ts';
import { SharedConnection } from './shared-connection.ts';
import { toCapability } from './to-capability.ts';
import { type Tool, ToolCatalog } from './tool-catalog.ts';
import { toEventBody, toFinal, toToolCall, wantsInput } from './translate.ts';
import { type TransportSource, transportSource } from './transport-source.ts';

const HEALTH_TIMEOUT_MS = 10_000;

/** Throws BAD_INPUT for a manifest that names no MCP agent. Connects when first needed. */
export const createMcpAdapter: AdapterFactory = ({ manifest, log, stateFolder }) =>
  new McpAdapter(manifest, log.child({ agent_id: manifest.agent_id }), stateFolder);

class McpAdapter implements Adapter, McpRelay {
  readonly #manifest: Manifest;
  readonly #source: TransportSource;
  readonly #lanes: Lanes;
  readonly #log: Log;
  readonly #listeners = new Set<{ readonly kind: ListKind; readonly listener: () => void }>();

  constructor(manifest: Manifest, log: Log, stateFolder: string | undefined) {
    this.#manifest = manifest;
    this.#source = transportSource(manifest, log, stateFolder);
    this.#log = log;
    this.#lanes = new Lanes(() => this.#openLane());
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { agent_id, capability } = envelope.target;
    try {
      using lease = await this.#lanes.acquire(context.signal);
      let round: Round | undefined = firstRound(context);
      while (round) round = yield* this.#serve(lease.lane, envelope, context, round);
    } catch (error) {
      throw FabricError.from(error).with({ agent_id, capability });
    }
  }

  /** One request and its answer; what the agent wants to be sent next when it is not done yet. */
  async *#serve(
    lane: Lane,
    envelope: Envelope,
    context: CallContext,
    round: Round,
  ): AsyncGenerator<EventBody, Round | undefined, undefined> {
    const { signal } = context;
    const exchange = await lane.requests.begin(signal, (connection) =>
      this.#callTool(lane, envelope, connection, context, round),
    );
    try {
      let last: FinalData | undefined;
      for (let said = await exchange.next(); said; said = await exchange.next()) {
        if (isQuestion(said)) {
          await this.#answer(lane, said, context);
          continue;
        }
        const body = toEventBody(said);
        if (body?.type === 'final') last = body.data;
        else if (body) yield body;
        else if (context.notify) await context.notify(said);
        else logNotification(context.log, said);
        await streamTurns.rest();
      }
      const result = exchange.result();
      if (!wantsInput(result)) return yield toFinal(result, last);
      return await nextRound(result, context);
    } finally {
      exchange.abandon();
    }
  }

  /** A question that an older agent asks by a request of its own. */
  async #answer(lane: Lane, question: JSONRPCRequest, context: CallContext): Promise<void> {
    const { method, params } = question;
    const { current } = lane.shared;
    try {
      const [response] =
        (await context.ask?.([toQuestion(String(question.id), method, params)])) ?? [];
      current?.respond(question, response ? toRpcAnswer(method, response) : toCancel(method));
    } catch (error) {
      current?.respond(question, toCancel(method));
      throw error;
    }
  }

  #openLane(): Lane {
    const log = this.#log;
    const catalog = new ToolCatalog(log);
    const shared = new SharedConnection({
      createTransport: () => this.#source.create(),
      connectTimeoutMs: this.#source.options.connect_timeout_ms,
      backsOff: this.#source.isCostly,
      log,
      onOpened: (connection) => {
        for (const { kind } of this.#listeners) connection.watches(kind);
      },
      onListChanged: (kind) => {
        if (kind === 'tools') catalog.invalidate();
        for (const entry of this.#listeners) if (entry.kind === kind) entry.listener();
      },
      onStray: () => {
        log.info({}, 'the agent asked while several calls ran: each gets its own connection now');
        this.#lanes.separate();
      },
    });
    return { shared, catalog, requests: new Requests(shared, catalog) };
  }

  async request(
    method: string,
    params: Fields | undefined,
    options: RelayOptions,
  ): Promise<Fields> {
    const { signal, clientCapabilities, onNotification } = options;
    if (method === LISTEN) {
      const { olderSubscriptions } = await this.#lanes.main.shared.get(signal);
      if (olderSubscriptions) return await olderSubscriptions.listen(params, options);
    }
    const meta = isObject(params?._meta) ? params._meta : {};
    const token = meta.progressToken;
    const declared = clientCapabilities && { [CLIENT_CAPABILITIES_META_KEY]: clientCapabilities };
    const sent = { ...params, _meta: { ...meta, ...declared } };
    const { requests, shared } = this.#lanes.main;
    const exchange = await requests.begin(signal, async (connection) =>
      connection.send(method, sent, { progress: token !== undefined }),
    );
    try {
      for (let said = await exchange.next(); said; said = await exchange.next()) {
        if (isQuestion(said)) shared.current?.respond(said, toCancel(said.method));
        else await onNotification?.(withToken(said, token));
      }
      return exchange.result();
    } finally {
      exchange.abandon();
    }
  }

  async serverCapabilities({ signal }: { signal: AbortSignal }): Promise<ServerCapabilities> {
    return (await this.#lanes.main.shared.get(signal)).capabilities;
  }

  onListChanged(kind: ListKind, listener: () => void): () => void {
    const entry = { kind, listener };
    this.#listeners.add(entry);
    this.#lanes.main.shared.current?.watches(kind);
    return () => this.#listeners.delete(entry);
  }

  async health({ signal: parent }: CallContext): Promise<Health> {
    using deadline = deadlineSignal({ ms: HEALTH_TIMEOUT_MS, parent });
    const { signal } = deadline;
    const started = performance.now();
    try {
      const { era } = await this.#lanes.main.shared.get(signal);
      await this.request(era === 'modern' ? 'server/discover' : 'ping', undefined, { signal });
    } catch (error) {
      if (!rpcErrorOf(error)) {
        return failedHealth(FabricError.from(error), this.#lanes.main.shared.isOpening);
      }
    }
    const latency_ms = performance.now() - started;
    return { status: 'online', checked_at: new Date().toISOString(), latency_ms };
  }

  async describe({ signal }: CallContext): Promise<AgentDescription> {
    try {
      const { shared, catalog } = this.#lanes.main;
      const connection = await shared.get(signal);
      catalog.invalidate();
      const tools = await catalog.all(connection, signal);
      const { server, instructions } = connection;
      const description = server?.description ?? instructions;
      return {
        capabilities: [...tools.values()].map(toCapability),
        ...(server ? { version: server.version } : {}),
        ...(description === undefined ? {} : { description: bounded(description) }),
      };
    } catch (error) {
      throw FabricError.from(error).with({ agent_id: this.#manifest.agent_id });
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#lanes.close();
    await this.#source.close();
  }

  async #callTool(
    { catalog }: Lane,
    envelope: Envelope,
    connection: McpConnection,
    context: CallContext,
    round: Round,
  ): Promise<Exchange> {
    const capability = findCapability(this.#manifest, envelope.target.capability);
    const name = capability?.tool ?? envelope.target.capability;
    const schema = capability?.input_schema;
    const tool = await findTool(name, schema, catalog, connection, context.signal);
    const toolArguments = toToolArguments(envelope.input, schema ?? tool?.inputSchema);
    const call = {
      ...toToolCall(tool?.name ?? name, toolArguments, envelope, context),
      ...round,
    };
    return connection.send('tools/call', call, {
      progress: true,
      principal: envelope.auth.principal_id ?? undefined,
      headers: tool && paramHeadersOf(tool, toolArguments),
    });
  }
}

/** Not asked for when the manifest has all that a call needs and nothing is known yet. */
async function findTool(
  name: string,
  schema: Fields | undefined,
  catalog: ToolCatalog,
  connection: McpConnection,
  signal: AbortSignal,
): Promise<Tool | undefined> {
  const known = catalog.peek(connection);
  if (schema && !known) return undefined;
  const tool =
    known?.get(name) ?? (await catalog.find(name, connection, signal).catch(throwUnsent));
  if (tool) return tool;
  throw new FabricError('CAPABILITY_NOT_FOUND', 'The agent does not have this tool', {
    details: { reason: 'unknown_tool', tool: name, sent: false, fix: 'see what it lists' },
  });
}

function paramHeadersOf({ paramHeaders }: Tool, args: Fields): Headers | undefined {
  return paramHeaders.length === 0 ? undefined : toParamHeaders(paramHeaders, args);
}

/** What a request carries beside the call itself when it goes on with one. */
interface Round {
  readonly requestState?: unknown;
  readonly inputResponses?: Fields;
}

function firstRound({ handle, responses }: CallContext): Round {
  return {
    ...(handle?.request_state !== undefined && { requestState: handle.request_state }),
    ...(responses && { inputResponses: toInputResponses(responses) }),
  };
}

/** Asks the caller what the agent wants to know; without any question the agent wants more time. */
async function nextRound(result: Fields, { ask, signal }: CallContext): Promise<Round> {
  const { requestState } = result;
  const state = requestState === undefined ? {} : { requestState };
  const questions = questionsIn(result);
  if (questions.length === 0) {
    await paced(signal);
    return state;
  }
  if (!ask) throw unanswered(questions);
  const handle = requestState === undefined ? {} : { request_state: requestState };
  const responses = await ask(questions, { handle });
  return { ...state, inputResponses: toInputResponses(responses) };
}

/** Under the token its reader knows. */
function withToken(notification: JSONRPCNotification, progressToken: unknown): JSONRPCNotification {
  if (notification.method !== 'notifications/progress') return notification;
  return {
    ...notification,
    params: { ...notification.params, progressToken },
  } as JSONRPCNotification;
}

function logNotification(log: Log, { method, params }: JSONRPCNotification): void {
  const said = bounded(JSON.stringify(params?.data ?? null));
  log.debug({ method, level: params?.level, said }, 'agent log');
}

function failedHealth(error: FabricError, isOpening: boolean): Health {
  const checked_at = new Date().toISOString();
  if (isOpening && error.code === 'TIMEOUT') return { status: 'starting', checked_at };
  const isThere = error.code === 'AUTH_DENIED' || error.code === 'RATE_LIMITED';
  return { status: isThere ? 'degraded' : 'offline', checked_at, ...toHealthReason(error) };
}
