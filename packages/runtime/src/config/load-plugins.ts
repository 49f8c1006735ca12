// Plugins by name: built in, an npm package, or a file, found from the agent's folder. A plugin that
// is broken stops the start, and says which it is, why, and what to do.

import { pathToFileURL } from 'node:url';
import { FabricError, type Log, orAborted } from '@starloom/core';
import type { IProvider, ITool, Plugin, PluginHost, PluginParts } from '@starloom/sdk';
import { deadlineSignal, findModule, holdProcess } from '@starloom/wire';
import { z } from 'zod';
import type { ToolSource } from '../core/seams.ts';
import { assertUsableSchema } from '../core/tool-arguments.ts';
import { fixedSource } from '../core/tool-registry.ts';
import type { PluginEntry } from './agent-file.ts';

const SETUP_TIMEOUT_MS = 30_000;

/** Name → how to load it. */
export type BuiltInPlugins = Readonly<Record<string, () => Promise<Plugin>>>;

export interface LoadPluginsOptions {
  readonly builtIn: BuiltInPlugins;
  readonly folder: string;
  readonly stateFolder?: string | undefined;
  readonly env: PluginHost['env'];
  readonly log: Log;
}

export interface LoadedPlugins {
  readonly sources: readonly ToolSource[];
  readonly providers: readonly IProvider[];
}

export async function loadPlugins(
  entries: readonly PluginEntry[],
  options: LoadPluginsOptions,
): Promise<LoadedPlugins> {
  const sources: ToolSource[] = [];
  const providers: IProvider[] = [];
  const owners = new Map<string, string>();
  try {
    for (const entry of entries) {
      const parts = await openPlugin(entry, options);
      const tools = parts.tools ?? [];
      sources.push(fixedSource(tools, parts.close?.bind(parts)));
      for (const tool of tools) assertTool(tool, entry.name, owners);
      providers.push(...(parts.providers ?? []));
    }
  } catch (error) {
    await Promise.allSettled(sources.map((source) => source.close()));
    throw error;
  }
  return { sources, providers };
}

async function openPlugin(entry: PluginEntry, options: LoadPluginsOptions): Promise<PluginParts> {
  const { name, config } = entry;
  const { builtIn, folder, stateFolder, env, log } = options;
  const plugin = Object.hasOwn(builtIn, name)
    ? await builtIn[name]?.()
    : await importPlugin(name, folder, Object.keys(builtIn));
  if (!isPlugin(plugin)) {
    const what = 'it exports no plugin, tool or provider';
    throw broken(name, 'no_plugin', what, 'export default definePlugin({…})');
  }
  const host: PluginHost = {
    folder,
    env,
    ...(stateFolder !== undefined && { stateFolder }),
    warn: (message) => log.warn({ plugin: name }, message),
  };
  using _ = holdProcess();
  using deadline = deadlineSignal({ ms: SETUP_TIMEOUT_MS });
  try {
    const setup = (async () => plugin.setup(config, host))();
    return (await orAborted(setup, deadline.signal)) ?? {};
  } catch (cause) {
    throw setupFailed(name, cause);
  }
}

async function importPlugin(
  name: string,
  folder: string,
  known: readonly string[],
): Promise<unknown> {
  const path = find(name, folder);
  if (path === undefined) {
    const fix = `install the package, correct the path, or use one of: ${known.join(', ')}`;
    throw broken(name, 'not_found', 'there is no such plugin, package or file', fix);
  }
  try {
    const module: Record<string, unknown> = await import(pathToFileURL(path).href);
    const plugin = module.default ?? module.plugin;
    return isPlugin(plugin) ? plugin : toPlugin(name, Object.values(module));
  } catch (cause) {
    throw broken(name, 'import_failed', reasonOf(cause), 'correct the module', cause);
  }
}

/** Tools and providers that stand for themselves, as the standard protocol describes them. */
function toPlugin(name: string, exported: readonly unknown[]): Plugin | undefined {
  const parts = [...new Set(exported)];
  const tools = parts.filter((part) => has<ITool>(part, 'execute'));
  const providers = parts.filter((part) => has<IProvider>(part, 'generate'));
  if (tools.length + providers.length === 0) return undefined;
  return { name, setup: () => ({ tools, providers }) };
}

function find(name: string, folder: string): string | undefined {
  try {
    return findModule(name, folder);
  } catch (cause) {
    throw broken(name, 'bad_package', 'its package leads to no module', 'reinstall it', cause);
  }
}

function setupFailed(name: string, cause: unknown): FabricError {
  if (FabricError.is(cause)) {
    return broken(
      name,
      'setup_failed',
      cause.message,
      String(cause.details.fix ?? 'see above'),
      cause,
    );
  }
  if (isZodError(cause)) {
    const fix = `correct the config of plugin "${name}" in agent.json`;
    return broken(name, 'bad_config', z.prettifyError(cause), fix, cause);
  }
  return broken(name, 'setup_failed', reasonOf(cause), 'correct the plugin or its config', cause);
}

/** Checked here once: afterwards the core relies on it. */
function assertTool(tool: ITool, plugin: string, owners: Map<string, string>): void {
  const { name, description, parameters, execute } = tool ?? {};
  const isTool =
    typeof name === 'string' &&
    name !== '' &&
    typeof description === 'string' &&
    typeof parameters === 'object' &&
    typeof execute === 'function';
  if (!isTool) {
    const fix = 'give every tool a name, a description, parameters and execute: use defineTool';
    throw broken(plugin, 'bad_tool', `its tool ${JSON.stringify(name ?? null)} is incomplete`, fix);
  }
  const owner = owners.get(name);
  if (owner !== undefined) {
    const cause = `its tool ${name} is also one of plugin "${owner}"`;
    throw broken(plugin, 'same_tool', cause, 'rename one of them, or leave one plugin out');
  }
  owners.set(name, plugin);
  try {
    assertUsableSchema(tool);
  } catch (cause) {
    throw broken(plugin, 'bad_schema', reasonOf(cause), 'correct its parameters', cause);
  }
}

function isPlugin(value: unknown): value is Plugin {
  return has<Plugin>(value, 'setup');
}

function has<T extends object>(value: unknown, method: keyof T): value is T {
  if (typeof value !== 'object' || value === null) return false;
  return typeof Reflect.get(value, method) === 'function';
}

function isZodError(value: unknown): value is z.ZodError {
  return value instanceof Error && 'issues' in value && Array.isArray(value.issues);
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function broken(
  plugin: string,
  reason: string,
  why: string,
  fix: string,
  cause?: unknown,
): FabricError {
  return new FabricError('BAD_INPUT', `Plugin "${plugin}" cannot be used: ${why}`, {
    details: { reason: 'plugin', plugin, problem: reason, why, fix },
    ...(cause === undefined ? {} : { cause }),
  });
}
