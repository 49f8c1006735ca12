import { FabricError } from '@starloom/core';
import type { ITool } from '@starloom/sdk';
import type { ToolSource } from '../../core/seams.ts';
import type { McpServerOptions } from './open-client.ts';
import type { McpServerConfig } from './server-config.ts';
import { type ServerHealth, ServerToolSource } from './server-tool-source.ts';

/** All MCP servers of an agent as one source. One that is dead never hides the others. */
export class McpServers implements ToolSource {
  readonly #sources: readonly ServerToolSource[];

  /** Throws BAD_INPUT when two have one name. Nothing is started yet. */
  constructor(configs: readonly McpServerConfig[], options: McpServerOptions) {
    const names = configs.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw sameName(twice);
    this.#sources = configs.map((config) => new ServerToolSource(config, options));
  }

  list(): readonly ITool[] {
    return this.#sources.flatMap((source) => source.list());
  }

  onChange(listener: () => void): () => void {
    const stops = this.#sources.map((source) => source.onChange(listener));
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** Resolves when each has listed its tools or failed to. */
  async ready(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.ready()));
  }

  get health(): ServerHealth[] {
    return this.#sources.map((source) => source.health);
  }

  /** Resolves when every subprocess is gone. */
  async close(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.close()));
  }
}

function sameName(name: string): FabricError {
  return new FabricError('BAD_INPUT', `Two MCP servers are named "${name}"`, {
    details: { reason: 'same_name', server: name, fix: 'give each of mcp.servers its own name' },
  });
}
