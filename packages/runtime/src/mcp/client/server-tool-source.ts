// The tools of one MCP server. It is started when its tools are first asked for. When it goes
// away its tools stay listed: a call is what brings it back.

import { FabricError, type Fields, toMeta } from '@starloom/core';
import type { CallToolOptions, ClientState, McpClient, Tool } from '@starloom/mcp-client';
import type { ContentSegment, ITool, ToolContext } from '@starloom/sdk';
import type { McpServerConfig } from '../../config/agent-toml.ts';
import type { ToolSource } from '../../core/seams.ts';
import { outgoingCall } from '../../guard.ts';
import { type McpServerOptions, openClient, serverFailure } from './open-client.ts';
import { allowedTools, type MissingTool, toOutput, toTool } from './to-tool.ts';

export interface ServerHealth {
  readonly name: string;
  /** `idle`: not needed yet. */
  readonly state: ClientState;
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
  readonly #client: McpClient;
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  #tools: readonly ITool[] = [];
  #missing: readonly MissingTool[] = [];
  /** The tools as the server described them. */
  #described: string | undefined;
  /** Lists are read one after the other, so that the last one read is the newest. */
  #reading: Promise<void> = Promise.resolve();
  #isWanted = false;

  constructor(config: McpServerConfig, options: McpServerOptions) {
    this.#config = config;
    this.#options = options;
    this.#client = openClient(config, options, {
      onOpened: () => void this.#refresh(),
      onFailure: (failure) => this.#warnFailed(failure),
    });
    this.#client.onListChanged('tools', () => {
      if (this.#client.state === 'online') void this.#refresh();
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
    await this.#refresh();
  }

  /** One of its tools, by the server's own name for it. */
  async call(
    tool: string,
    args: Fields,
    context: Omit<ToolContext, 'sessionId'>,
    more: Fields = {},
  ): Promise<ContentSegment[]> {
    const { signal } = context;
    const { trace, hop } = outgoingCall(context);
    const onProgress: CallToolOptions['onProgress'] = ({ message, percent }) =>
      context.progress(message ?? '', percent);
    const result = await this.#client
      .callTool(tool, args, { signal, meta: { ...toMeta(trace, hop), ...more }, onProgress })
      .catch((error: unknown) => {
        if (signal.aborted) throw FabricError.from(signal.reason);
        throw serverFailure(this.name, error);
      });
    return toOutput(this.name, result);
  }

  get health(): ServerHealth {
    const { state, starts, failure } = this.#client;
    const known = { name: this.name, tools: this.#tools.length, starts, missing: this.#missing };
    if (state !== 'offline' || !failure) return { ...known, state };
    return { ...known, state, failure: serverFailure(this.name, failure) };
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#closing.abort(new FabricError('CANCELLED', 'The agent is shutting down'));
    await this.#client.close();
  }

  /** Never rejects. */
  #refresh(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      try {
        this.#take([...(await this.#client.tools(this.#closing.signal)).values()]);
      } catch (error) {
        if (this.#client.state === 'online') this.#warnUnlisted(error);
      }
    });
    return this.#reading;
  }

  #take(offered: readonly Tool[]): void {
    const { tools, missing } = allowedTools(offered, this.#config.allowed_tools);
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

  #warnFailed(error: FabricError): void {
    const { code, message, details } = serverFailure(this.name, error);
    const fields = { server: this.name, code, reason: details.reason, fix: details.fix };
    this.#options.log.warn(fields, `MCP server: ${message}`);
  }

  #warnUnlisted(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const { code } = serverFailure(this.name, error);
    this.#options.log.warn({ server: this.name, code }, 'MCP server: tools cannot be listed');
  }
}
