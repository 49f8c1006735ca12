import { createTrace, ROOT_HOP } from '@starloom/core';
import type { ITool, ToolContext, ToolOutput } from '@starloom/sdk';
import { BUILT_IN_PLUGINS } from '../../src/plugins/index.ts';

export interface OpenedPlugin extends AsyncDisposable {
  readonly tools: ReadonlyMap<string, ITool>;
  readonly warnings: string[];
  /** Runs a tool as the core does: with arguments that were parsed from JSON. */
  run(name: string, args?: object, context?: Partial<ToolContext>): Promise<ToolOutput>;
}

export interface OpenOptions {
  readonly folder: string;
  readonly config?: object;
  readonly env?: Readonly<Record<string, string>>;
  readonly stateFolder?: string;
}

/** A built-in plugin, set up as an agent sets it up. */
export async function openPlugin(
  name: keyof typeof BUILT_IN_PLUGINS,
  { folder, config = {}, env = {}, ...host }: OpenOptions,
): Promise<OpenedPlugin> {
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const plugin = await BUILT_IN_PLUGINS[name]();
  const parts = await plugin.setup(config, { folder, env, warn, ...host });
  const tools = new Map(parts.tools?.map((tool) => [tool.name, tool]));
  return {
    tools,
    warnings,
    async run(toolName, args = {}, context = {}) {
      const tool = tools.get(toolName);
      if (!tool) throw new Error(`no tool ${toolName}`);
      return tool.execute(structuredClone(args) as never, toolContext(context));
    },
    [Symbol.asyncDispose]: async () => parts.close?.(),
  };
}

export function toolContext(given: Partial<ToolContext> = {}): ToolContext {
  return {
    signal: new AbortController().signal,
    sessionId: 'session',
    trace: createTrace(),
    hop: ROOT_HOP,
    progress: () => {},
    ...given,
  };
}
