// The tools of one MCP server. It is started when its tools are first asked for. When it goes
// away its tools stay listed: a call is what brings it back.

import type { Progress } from '@modelcontextprotocol/client';
import type { Fields } from '@starloom/core';
import { FabricError, orAborted, toMeta } from '@starloom/core';
import type { ContentSegment, ITool, ToolContext } from '@starloom/sdk';
import type { ToolSource } from '../../core/seams.ts';
import { outgoingCall } from '../../guard.ts';
import { allowedTools, type MissingTool } from './allowed-tools.ts';
import { callFailure, isForgotten, isLost } from './failures.ts';
import { KeptConnection, type McpServerOptions } from './kept-connection.ts';
import type { McpServerConfig } from './server-config.ts';
import type { ServerConnection } from './server-connection.ts';
import { toOutput } from './to-output.ts';
import { toTool } from './to-tool.ts';

export interface ServerHealth {
  readonly name: string;
  /** `idle`: not needed yet. */
  readonly state: 'idle' | 'starting' | 'online' | 'offline';
  readonly tools: number;
  /** How often it was started, or connected to, in all. */
  readonly starts: number;
  /** Named by `allowed_tools`, and not offered. */
  readonly missing: readonly MissingTool[];
  /** Why it is offline. */
  readonly failure?: FabricError;
}

export class ServerToolSource implements ToolSource {
  readonly #config: McpServerConfig;
  readonly #options: McpServerOptions;
  readonly #connection: KeptConnection;
  readonly #listeners = new Set<() => void>();
  #tools: readonly ITool[] = [];
  #missing: readonly MissingTool[] = [];
  /** The tools as the server described them. */
  #described: string | undefined;
  #refreshing: Promise<void> | undefined;
  #isWanted = false;

  constructor(config: McpServerConfig, options: McpServerOptions) {
    this.#config = config;
    this.#options = options;
    this.#connection = new KeptConnection(config, options, {
      onOpened: (connection) => this.#refresh(connection),
      onToolsChanged: () => void this.#onToolsChanged(),
    });
  }

  get name(): string {
    return this.#config.name;
  }

  /** What is known; the first time, the server is started, and `onChange` tells what it has. */
  list(): readonly ITool[] {
    if (!this.#isWanted) void this.ready();
    return this.#tools;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when its tools are known, or when it is known that there are none to be had now. */
  async ready(): Promise<void> {
    this.#isWanted = true;
    if (this.#config.allowed_tools?.length === 0) return;
    await this.#connection.get().catch(() => {});
  }

  /** One of its tools, by the server's own name for it. */
  async call(tool: string, args: Fields, context: ToolContext): Promise<ContentSegment[]> {
    const { signal } = context;
    const { trace, hop } = outgoingCall(context);
    const onProgress = (said: Progress) => context.progress(said.message ?? '', percentOf(said));
    for (let isRetry = false; ; isRetry = true) {
      const connection = await orAborted(this.#connection.get(), signal);
      const result = await connection
        .callTool(tool, args, toMeta(trace, hop), { signal, onProgress })
        .catch((error: unknown) => {
          if (signal.aborted) throw FabricError.from(signal.reason);
          return this.#failed(connection, error, isRetry);
        });
      if (result) return toOutput(this.name, result);
    }
  }

  get health(): ServerHealth {
    const { current, isOpening, starts, failure } = this.#connection;
    const known = { name: this.name, tools: this.#tools.length, starts, missing: this.#missing };
    if (current) return { ...known, state: 'online' };
    if (isOpening) return { ...known, state: 'starting' };
    if (failure) return { ...known, state: 'offline', failure };
    return { ...known, state: starts > 0 ? 'offline' : 'idle' };
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#connection.close();
  }

  /** Throws, unless the server never looked at the call and it is worth another try. */
  #failed(connection: ServerConnection, error: unknown, isRetry: boolean): undefined {
    const failure = callFailure(this.name, error, connection.failure);
    if (isLost(error)) this.#connection.drop(connection, failure);
    if (!isForgotten(error) || isRetry) throw failure;
  }

  async #onToolsChanged(): Promise<void> {
    const { current } = this.#connection;
    if (!current) return;
    try {
      await this.#refreshing;
      await this.#refresh(current);
    } catch (error) {
      const { code } = callFailure(this.name, error, current.failure);
      this.#options.log.warn({ server: this.name, code }, 'MCP server: tools cannot be listed');
    }
  }

  #refresh(connection: ServerConnection): Promise<void> {
    this.#refreshing ??= this.#list(connection).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #list(connection: ServerConnection): Promise<void> {
    const { tools, missing } = allowedTools(
      await connection.listTools(),
      this.#config.allowed_tools,
    );
    const described = JSON.stringify(tools);
    if (described === this.#described) return;
    this.#missing = missing;
    this.#warn(tools.length, missing);
    this.#described = described;
    this.#tools = tools.map((tool) =>
      toTool(this.#config, tool, (args, context) => this.call(tool.name, args, context)),
    );
    for (const listener of [...this.#listeners]) listener();
  }

  #warn(count: number, missing: readonly MissingTool[]): void {
    const { log } = this.#options;
    const { name: server } = this;
    const isFirst = this.#described === undefined;
    if (isFirst && this.#config.allowed_tools === undefined) {
      const fix = 'set allowed_tools of the server in agent.toml';
      log.warn({ server, tools: count, fix }, 'MCP server: all its tools are available');
    }
    if (missing.length > 0) {
      const names = missing.map(({ name }) => name);
      log.warn({ server, missing: names }, 'MCP server: it lacks tools that allowed_tools names');
    }
  }
}

function percentOf({ progress, total }: Progress): number | undefined {
  if (total === undefined || !(total > 0)) return undefined;
  return Math.min(100, Math.max(0, (100 * progress) / total));
}
