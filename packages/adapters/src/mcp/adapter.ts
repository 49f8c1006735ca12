// Agents that speak MCP, of either era, over HTTP or as child processes.

import {
  CLIENT_CAPABILITIES_META_KEY,
  type JSONRPCNotification,
  type ServerCapabilities,
} from '@modelcontextprotocol/client';
import {
  type Adapter,
  type AdapterFactory,
  type AgentDescription,
  type CallContext,
  type Envelope,
  type EventBody,
  FabricError,
  type FinalData,
  findCapability,
  type Health,
  type Log,
  type Manifest,
  toHealthReason,
} from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import { toToolArguments } from './arguments.ts';
import type { McpConnection } from './connection.ts';
import { bounded } from './error-payload.ts';
import type { Exchange } from './exchange.ts';
import type { Headers } from './http-headers.ts';
import { isObject, type JsonObject } from './json-rpc.ts';
import { toParamHeaders } from './param-headers.ts';
import type { ListKind, McpRelay, RelayOptions } from './relay.ts';
import { Requests, throwUnsent } from './requests.ts';
import { rpcErrorOf } from './rpc-failure.ts';
import { SharedConnection } from './shared-connection.ts';
import { toCapability } from './to-capability.ts';
import { type Tool, ToolCatalog } from './tool-catalog.ts';
import {
  incompleteFailure,
  toEventBody,
  toFinal,
  toRelayedFinal,
  toToolCall,
} from './translate.ts';
import { type TransportSource, transportSource } from './transport-source.ts';

const HEALTH_TIMEOUT_MS = 10_000;

/** Throws BAD_INPUT for a manifest that names no MCP agent. Connects when first needed. */
export const createMcpAdapter: AdapterFactory = ({ manifest, log }) =>
  new McpAdapter(manifest, log.child({ agent_id: manifest.agent_id }));

class McpAdapter implements Adapter, McpRelay {
  readonly #manifest: Manifest;
  readonly #source: TransportSource;
  readonly #shared: SharedConnection;
  readonly #catalog: ToolCatalog;
  readonly #requests: Requests;
  readonly #listeners = new Set<{ readonly kind: ListKind; readonly listener: () => void }>();

  constructor(manifest: Manifest, log: Log) {
    this.#manifest = manifest;
    this.#source = transportSource(manifest, log);
    this.#catalog = new ToolCatalog(log);
    this.#shared = new SharedConnection({
      createTransport: () => this.#source.create(),
      connectTimeoutMs: this.#source.options.connect_timeout_ms,
      backsOff: this.#source.isCostly,
      log,
      onOpened: (connection) => {
        for (const { kind } of this.#listeners) connection.watches(kind);
      },
      onListChanged: (kind) => {
        if (kind === 'tools') this.#catalog.invalidate();
        for (const entry of this.#listeners) if (entry.kind === kind) entry.listener();
      },
    });
    this.#requests = new Requests(this.#shared, this.#catalog);
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { signal, notify } = context;
    const { agent_id, capability } = envelope.target;
    let exchange: Exchange | undefined;
    try {
      exchange = await this.#requests.begin(signal, (connection) =>
        this.#callTool(envelope, connection, signal),
      );
      let told: FinalData | undefined;
      for (let said = await exchange.next(); said; said = await exchange.next()) {
        const body = toEventBody(said);
        if (body?.type === 'final') told = body.data;
        else if (body) yield body;
        else if (notify) await notify(said);
        else logNotification(context.log, said);
      }
      const result = exchange.result();
      const incomplete = incompleteFailure(result);
      if (incomplete?.details.reason === 'input_required') {
        yield { type: 'status', data: { state: 'awaiting_input' } };
        if (envelope.input.relay) return yield toRelayedFinal(result);
      }
      if (incomplete) throw incomplete;
      yield toFinal(result, told);
    } catch (error) {
      throw FabricError.from(error).with({ agent_id, capability });
    } finally {
      exchange?.abandon();
    }
  }

  async request(
    method: string,
    params: JsonObject | undefined,
    options: RelayOptions,
  ): Promise<JsonObject> {
    const { signal, clientCapabilities, onNotification } = options;
    const meta = isObject(params?._meta) ? params._meta : {};
    const token = meta.progressToken;
    const declared = clientCapabilities && { [CLIENT_CAPABILITIES_META_KEY]: clientCapabilities };
    const sent = { ...params, _meta: { ...meta, ...declared } };
    const exchange = await this.#requests.begin(signal, async (connection) =>
      connection.send(method, sent, {
        progress: token !== undefined,
        headers: method === 'tools/call' ? this.#paramHeaders(sent) : undefined,
      }),
    );
    try {
      for (let said = await exchange.next(); said; said = await exchange.next()) {
        await onNotification?.(withToken(said, token));
      }
      return exchange.result();
    } finally {
      exchange.abandon();
    }
  }

  async serverCapabilities({ signal }: { signal: AbortSignal }): Promise<ServerCapabilities> {
    return (await this.#shared.get(signal)).capabilities;
  }

  onListChanged(kind: ListKind, listener: () => void): () => void {
    const entry = { kind, listener };
    this.#listeners.add(entry);
    this.#shared.current?.watches(kind);
    return () => this.#listeners.delete(entry);
  }

  async health({ signal: parent }: CallContext): Promise<Health> {
    using deadline = deadlineSignal({ ms: HEALTH_TIMEOUT_MS, parent });
    const { signal } = deadline;
    const started = performance.now();
    try {
      const { era } = await this.#shared.get(signal);
      await this.request(era === 'modern' ? 'server/discover' : 'ping', undefined, { signal });
    } catch (error) {
      if (!rpcErrorOf(error)) {
        return failedHealth(FabricError.from(error), this.#shared.isOpening);
      }
    }
    const latency_ms = performance.now() - started;
    return { status: 'online', checked_at: new Date().toISOString(), latency_ms };
  }

  async describe({ signal }: CallContext): Promise<AgentDescription> {
    try {
      const connection = await this.#shared.get(signal);
      this.#catalog.invalidate();
      const tools = await this.#catalog.all(connection, signal);
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
    await this.#shared.close();
    await this.#source.close();
  }

  async #callTool(
    envelope: Envelope,
    connection: McpConnection,
    signal: AbortSignal,
  ): Promise<Exchange> {
    const capability = findCapability(this.#manifest, envelope.target.capability);
    const name = capability?.tool ?? envelope.target.capability;
    const tool = await this.#findTool(name, capability?.input_schema, connection, signal);
    const schema = capability?.input_schema ?? tool?.inputSchema;
    const toolArguments = toToolArguments(envelope.input, schema);
    const call = toToolCall(tool?.name ?? name, toolArguments, envelope);
    return connection.send('tools/call', call, {
      progress: true,
      headers: this.#paramHeaders(call),
    });
  }

  /** Not asked for when the manifest tells all that a call needs and nothing is known yet. */
  async #findTool(
    name: string,
    schema: JsonObject | undefined,
    connection: McpConnection,
    signal: AbortSignal,
  ): Promise<Tool | undefined> {
    const known = this.#catalog.peek(connection);
    if (schema && !known) return undefined;
    const tool =
      known?.get(name) ?? (await this.#catalog.find(name, connection, signal).catch(throwUnsent));
    if (tool) return tool;
    throw new FabricError('CAPABILITY_NOT_FOUND', 'The agent does not have this tool', {
      details: { reason: 'unknown_tool', tool: name, sent: false, fix: 'see what it lists' },
    });
  }

  #paramHeaders({ name, arguments: toolArguments }: JsonObject): Headers | undefined {
    const tool = typeof name === 'string' ? this.#catalog.peek()?.get(name) : undefined;
    if (!tool || tool.paramHeaders.length === 0) return undefined;
    return toParamHeaders(tool.paramHeaders, toolArguments);
  }
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
