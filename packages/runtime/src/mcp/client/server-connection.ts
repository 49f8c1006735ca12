// One live connection to an MCP server, through the official client: it negotiates the revision (the
// current one first, then the older handshake) and tells when the list of tools has changed.

import {
  type CallToolResult,
  Client,
  type Implementation,
  type jsonSchemaValidator,
  type Progress,
  type Tool,
} from '@modelcontextprotocol/client';
import type { Fields, Log } from '@starloom/core';
import type { ServerTransport } from './server-transport.ts';
import { ToolWatch } from './tool-watch.ts';

export interface ConnectionOptions {
  readonly transport: ServerTransport;
  /** Who we are. */
  readonly client: Implementation;
  readonly timeoutMs: number;
  /** Skip the question which revision the server speaks. */
  readonly isKnownLegacy: boolean;
  readonly log: Log;
  readonly onToolsChanged: () => void;
  readonly onClose: () => void;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/** Longer than any call: the caller's signal is what bounds it. */
const UNLIMITED_MS = 2 ** 31 - 1;

export class ServerConnection {
  readonly isLegacy: boolean;
  readonly #client: Client;
  readonly #transport: ServerTransport;
  readonly #timeoutMs: number;
  readonly #watch: ToolWatch | undefined;
  #isOver = false;

  /** Rejects with what the SDK or the transport threw; the transport is closed then. */
  static async open(options: ConnectionOptions): Promise<ServerConnection> {
    const { transport, timeoutMs, isKnownLegacy } = options;
    const client = new Client(options.client, {
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: timeoutMs / 2 } },
      inputRequired: { autoFulfill: false },
      jsonSchemaValidator: AS_IT_COMES,
    });
    client.onerror = ({ message }) => options.log.debug({ error: message }, 'MCP client');
    client.setNotificationHandler('notifications/tools/list_changed', options.onToolsChanged);
    try {
      const prior = isKnownLegacy ? { prior: { kind: 'legacy' as const } } : {};
      await client.connect(transport, { timeout: timeoutMs, ...prior });
    } catch (error) {
      await transport.close();
      throw error;
    }
    return new ServerConnection(client, options);
  }

  private constructor(client: Client, options: ConnectionOptions) {
    this.#client = client;
    this.#transport = options.transport;
    this.#timeoutMs = options.timeoutMs;
    this.isLegacy = client.getProtocolEra() !== 'modern';
    client.onclose = () => {
      this.#isOver = true;
      this.#watch?.close();
      options.onClose();
    };
    const tellsChanges = client.getServerCapabilities()?.tools?.listChanged ?? false;
    if (this.isLegacy || !tellsChanges) return;
    this.#watch = new ToolWatch(client, options.onToolsChanged);
  }

  get isOver(): boolean {
    return this.#isOver || this.#transport.failure !== undefined;
  }

  get failure() {
    return this.#transport.failure;
  }

  /** Every page. Empty for a server without tools. */
  async listTools(): Promise<Tool[]> {
    const options = { timeout: this.#timeoutMs, cacheMode: 'refresh' as const };
    return (await this.#client.listTools(undefined, options)).tools;
  }

  callTool(
    name: string,
    args: Fields,
    meta: Fields,
    { signal, onProgress }: CallOptions,
  ): Promise<CallToolResult> {
    return this.#client.callTool(
      { name, arguments: args, _meta: meta },
      { signal, timeout: UNLIMITED_MS, onprogress: onProgress },
    );
  }

  async close(): Promise<void> {
    this.#watch?.close();
    await this.#client.close();
    await this.#transport.close();
  }
}

/** What a server returns goes to a model as it is: whether it fits its schema is of no use there. */
const AS_IT_COMES: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};
