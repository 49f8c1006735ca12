// One call on one connection. It may take several requests, one after the other, and the server may
// ask in between. What its caller does not read on is cancelled with the call.

import type { JSONRPCRequest } from '@modelcontextprotocol/client';
import { FabricError, type Fields, isAway } from '@starloom/core';
import { cancelAnswer, type RpcAnswer } from './agent-transport.ts';
import type { McpConnection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { type LaneLease, type Lanes, putRight, throwUnsent } from './lanes.ts';
import { toParamHeaders } from './param-headers.ts';
import { failure } from './reasons.ts';
import type { Tool, ToolSnapshot } from './tool-catalog.ts';

export interface CallOptions {
  readonly signal: AbortSignal;
  /** On whose behalf; an unknown principal equals no other. */
  readonly principal?: string | null;
}

/** What comes back for one request: notifications and questions, then one result. */
export type Answer = Pick<Exchange, 'isRead' | 'next' | 'result'>;

/** What a server says of itself. */
export type ServerFacts = Pick<McpConnection, 'era' | 'capabilities' | 'server' | 'instructions'>;

export interface ToolRequest {
  /** Whether the tool must be known before the call is sent; else it is used if it is known. */
  readonly needsTool: boolean;
  /** `arguments`, `_meta` and what else the request carries. */
  readonly toParams: (
    tool: Tool | undefined,
    server: ServerFacts,
  ) => ToolParams | Promise<ToolParams>;
}

type ToolParams = { readonly arguments: Fields };

/** At once while calls share a connection. */
export function openCall(lanes: Lanes, options: CallOptions): McpCall | Promise<McpCall> {
  const lease = lanes.sharedLease;
  if (lease) return new McpCall(lanes, lease, options);
  return lanes.acquire(options.signal).then((own) => new McpCall(lanes, own, options));
}

export class McpCall implements Disposable {
  readonly #lanes: Lanes;
  readonly #lease: LaneLease;
  readonly #signal: AbortSignal;
  readonly #principal: string | undefined;
  #connection: McpConnection | undefined;
  #exchange: Exchange | undefined;

  constructor(lanes: Lanes, lease: LaneLease, { signal, principal }: CallOptions) {
    this.#lanes = lanes;
    this.#lease = lease;
    this.#signal = signal;
    this.#principal = principal ?? undefined;
  }

  /** Of the connection that the last request used. */
  get server(): ServerFacts | undefined {
    return this.#connection;
  }

  /** Sends any request and waits for the first sign of an answer. */
  send(method: string, params: Fields, { progress = true } = {}): Promise<Answer> {
    return this.#begin((connection) =>
      connection.send(method, params, { progress, principal: this.#principal }),
    );
  }

  /**
   * Sends `tools/call`, at once when the tool is known or need not be. CAPABILITY_NOT_FOUND for a tool
   * that the server does not list.
   */
  callTool(name: string, { needsTool, toParams }: ToolRequest): Promise<Answer> {
    const { catalog } = this.#lease.lane;
    return this.#begin((connection) => {
      const send = (tool: Tool | undefined) => {
        const begin = (given: ToolParams) => {
          const params = { ...given, name: tool?.name ?? name };
          const headers = tool && paramHeadersOf(tool, params.arguments);
          return connection.send('tools/call', params, {
            progress: true,
            headers,
            principal: this.#principal,
          });
        };
        const given = toParams(tool, connection);
        return given instanceof Promise ? given.catch(throwUnsent).then(begin) : begin(given);
      };
      const tools = freshTools(catalog.latest, connection);
      const tool = tools?.get(name);
      if (tool || (!needsTool && !tools)) return send(tool);
      const finding = catalog.find(name, connection, this.#signal).catch(throwUnsent);
      return finding.then((found) => send(found ?? throwUnknown(name)));
    });
  }

  /**
   * Answers a question of an older server with what `ask` resolves to; the signal aborts when another
   * call needs the connection. Without an answer the server gets a cancellation.
   */
  async answer(
    question: JSONRPCRequest,
    ask: (signal: AbortSignal | undefined) => Promise<RpcAnswer | undefined>,
  ): Promise<void> {
    const connection = this.#connection;
    const cancelled = cancelAnswer(question.method);
    using open = connection?.isHttp
      ? undefined
      : this.#lanes.ask(this.#lease.lane, this.#principal);
    try {
      connection?.respond(question, (await ask(open?.signal)) ?? cancelled);
    } catch (error) {
      connection?.respond(question, cancelled);
      throw error;
    }
  }

  /** Answers a question for which there is no caller. */
  decline(question: JSONRPCRequest): void {
    this.#connection?.respond(question, cancelAnswer(question.method));
  }

  /** Sends a request whose answer does not matter. */
  notify(method: string, params: Fields): void {
    this.#connection?.send(method, params);
  }

  /** A server that went away gets a new connection with the next call. */
  noteFailure(reason: FabricError): void {
    const connection = this.#connection;
    if (connection?.isHttp && isAway(reason)) this.#lease.lane.shared.drop(connection, reason);
  }

  [Symbol.dispose](): void {
    this.#exchange?.abandon();
    this.#lease.release?.();
  }

  /**
   * Sends and waits for the first sign of an answer. A request that the agent refused unseen, for
   * what it knew of us or we of it, is sent once more after that was put right.
   */
  async #begin(
    send: (connection: McpConnection) => Exchange | Promise<Exchange>,
  ): Promise<Exchange> {
    const signal = this.#signal;
    const { lane } = this.#lease;
    for (let isRetry = false; ; isRetry = true) {
      if (signal.aborted) throwUnsent(signal.reason);
      const { latest } = lane.shared;
      const connection =
        latest && !latest.isClosed ? latest : await lane.shared.get(signal).catch(throwUnsent);
      this.#connection = connection;
      let exchange: Exchange | undefined;
      let failure: FabricError | undefined;
      try {
        const begun = send(connection);
        exchange = begun instanceof Promise ? await begun : begun;
        exchange.follow(signal);
        await exchange.ready();
        failure = exchange.failure;
      } catch (error) {
        failure = FabricError.from(error);
      }
      const isRight = failure && !isRetry && (await putRight(lane, connection, failure, signal));
      if (isRight) continue;
      if (!exchange) throw failure;
      this.#exchange = exchange;
      return exchange;
    }
  }
}

function throwUnknown(tool: string): never {
  throw failure('unknown_tool', { tool, sent: false });
}

function paramHeadersOf({ paramHeaders }: Tool, args: Fields) {
  return paramHeaders.length === 0 ? undefined : toParamHeaders(paramHeaders, args);
}

/** What is known of the agent's tools by way of this connection. */
export function freshTools(known: ToolSnapshot | undefined, connection: McpConnection) {
  if (known?.connection !== connection || performance.now() >= known.expiresAt) return undefined;
  return known.tools;
}
