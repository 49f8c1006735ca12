// One live connection to an agent. The SDK's client negotiates the protocol version, answers what
// the agent asks and keeps subscriptions; requests of ours go past it as raw exchanges.

import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Client,
  type ClientCapabilities,
  type Implementation,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  type ServerCapabilities,
} from '@modelcontextprotocol/client';
import { type Fields, isObject, type Log } from '@starloom/core';
import {
  type AgentTransport,
  type ExchangeOptions,
  FIRST_EXCHANGE_ID,
  RESERVED_META_KEYS,
  type RpcAnswer,
} from './agent-transport.ts';
import type { Exchange } from './exchange.ts';
import { LIST_KINDS, type ListKind } from './server/lists.ts';
import type { ConnectionOptions } from './shared-connection.ts';
import { ListSubscription, OlderSubscriptions } from './subscriptions.ts';

interface SendOptions extends ExchangeOptions {
  /** Wants progress; the token is the id of the exchange. */
  readonly progress?: boolean;
}

export class McpConnection {
  readonly era: 'modern' | 'legacy';
  readonly capabilities: ServerCapabilities;
  /** Extensions of MCP that we declare for our own requests. */
  readonly extensions: NonNullable<ClientCapabilities['extensions']>;
  readonly server: Implementation | undefined;
  readonly instructions: string | undefined;
  /** Of an agent that has no `subscriptions/listen`. */
  readonly olderSubscriptions: OlderSubscriptions | undefined;

  readonly #transport: AgentTransport;
  readonly #version: string;
  readonly #info: Implementation;
  readonly #log: Log;
  readonly #subscription: ListSubscription | undefined;
  #nextId = FIRST_EXCHANGE_ID;

  constructor(client: Client, options: ConnectionOptions) {
    const { transport, info, log, onListChanged } = options;
    this.#transport = transport;
    this.extensions = options.capabilities.extensions ?? {};
    this.#info = info;
    this.#log = log;
    this.#version = client.getNegotiatedProtocolVersion() ?? '';
    this.era = client.getProtocolEra() ?? 'legacy';
    this.capabilities = client.getServerCapabilities() ?? {};
    this.server = client.getServerVersion();
    this.instructions = client.getInstructions();
    if (this.era === 'legacy') {
      this.olderSubscriptions = new OlderSubscriptions(this);
      return;
    }
    const kinds = LIST_KINDS.filter((kind) => this.capabilities[kind]?.listChanged);
    const onLost = () => kinds.forEach(onListChanged);
    this.#subscription = new ListSubscription({ client, kinds, log, onLost });
  }

  get isClosed(): boolean {
    return this.#transport.failure !== undefined;
  }

  /** See `AgentTransport.isDoubtful`. */
  get isDoubtful(): boolean {
    return this.#transport.isDoubtful;
  }

  get isHttp(): boolean {
    return this.#transport.kind === 'http';
  }

  /** Whether the agent can send messages that answer no request. */
  get hasPush(): boolean {
    return this.#transport.hasPush;
  }

  /** Whether the agent reports changes of this list; the first call of this begins to watch it. */
  watches(kind: ListKind): boolean {
    if (!this.capabilities[kind]?.listChanged) return false;
    return this.#subscription ? this.#subscription.open() : this.#transport.hasPush;
  }

  /** Sends one request. Never throws: what goes wrong ends the exchange. */
  send(method: string, params: Fields = {}, options: SendOptions = {}): Exchange {
    const id = this.#nextId++;
    const _meta = this.#metaFor(params._meta, options.progress ? id : undefined);
    const request = { jsonrpc: '2.0' as const, id, method, params: { ...params, _meta } };
    return this.#transport.exchange(request, options);
  }

  /** Answers a question of the agent, if it still waits. */
  respond(question: JSONRPCRequest, answer: RpcAnswer): void {
    this.#transport.send({ jsonrpc: '2.0', id: question.id, ...answer }).catch((cause: unknown) => {
      this.#log.debug({ cause: String(cause) }, 'a question could not be answered');
    });
  }

  /** Closes the connection when its last request is over. */
  retire(): void {
    if (this.#transport.openExchanges === 0) void this.close();
    else this.#transport.onidle = () => void this.close();
  }

  async close(): Promise<void> {
    this.#subscription?.close();
    await this.#transport.close();
  }

  #metaFor(given: unknown, progressToken: number | undefined): Fields | undefined {
    const own = isObject(given) ? given : {};
    if (this.era === 'modern') {
      const meta: Fields = { ...own, progressToken, [PROTOCOL_VERSION_META_KEY]: this.#version };
      meta[CLIENT_INFO_META_KEY] ??= this.#info;
      meta[CLIENT_CAPABILITIES_META_KEY] ??= {};
      return meta;
    }
    const older = Object.entries({ ...own, progressToken }).filter(
      ([key, value]) => value !== undefined && !RESERVED_META_KEYS.has(key),
    );
    return older.length === 0 ? undefined : Object.fromEntries(older);
  }
}
