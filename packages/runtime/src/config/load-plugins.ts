// Plugins by name: built in, an npm package, or a file, found from the agent's folder. A plugin that
// is broken stops the start, and says which it is, why, and what to do.

import { FabricError, type Log, orAborted } from '@starloom/core';
import type { IProvider, ITool, Plugin, PluginHost, PluginParts } from '@starloom/sdk';
import { deadlineSignal, holdProcess } from '@starloom/wire';
import { z } from 'zod';
import type { EditorHost, ToolSource, Workspace } from '../core/seams.ts';
import { assertUsableSchema } from '../core/tool-arguments.ts';
import { isZodError } from '../core/tool-output.ts';
import { fixedSource } from '../core/tool-registry.ts';
import { importModule } from '../import-module.ts';
import { failure } from '../reasons.ts';
import type { PluginEntry } from './agent-file.ts';

const SETUP_TIMEOUT_MS = 30_000;

interface LoadPluginsOptions {
  /** Name → how to load it. */
  readonly builtIn: Readonly<Record<string, () => Promise<Plugin>>>;
  readonly folder: string;
  readonly stateFolder?: string | undefined;
  readonly env: PluginHost['env'];
  readonly workspace?: Workspace | undefined;
  readonly log: Log;
}

interface LoadedPlugins {
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
  const { builtIn, folder, stateFolder, env, workspace, log } = options;
  const plugin = Object.hasOwn(builtIn, name)
    ? await builtIn[name]?.()
    : await importPlugin(name, folder, Object.keys(builtIn));
  if (!isPlugin(plugin)) {
    const why = 'it exports no plugin, tool or provider';
    throw brokenPlugin(name, {
      problem: 'no_plugin',
      why,
      fix: 'export default definePlugin({…})',
    });
  }
  const host: EditorHost = {
    folder,
    env,
    ...(stateFolder !== undefined && { stateFolder }),
    ...(workspace && { workspace: workspace.folder }),
    ...(Object.hasOwn(builtIn, name) && { editor: workspace?.editor }),
    warn: (message) => log.warn({ plugin: name }, message),
  };
  using _ = holdProcess();
  using deadline = deadlineSignal({ ms: SETUP_TIMEOUT_MS });
  try {
    const setup = (async () => plugin.setup(config, host))();
    return (await orAborted(setup, deadline.signal)) ?? {};
  } catch (cause) {
    throw toSetupFailure(name, cause);
  }
}

async function importPlugin(
  name: string,
  folder: string,
  known: readonly string[],
): Promise<unknown> {
  const module = await importModule(name, folder, (problem, cause) => {
    const use = `install the package, correct the path, or use one of: ${known.join(', ')}`;
    const rows = {
      not_found: { why: 'there is no such plugin, package or file', fix: use },
      bad_package: { why: 'its package leads to no module', fix: 'reinstall it' },
      import_failed: { why: reasonOf(cause), fix: 'correct the module' },
    };
    return brokenPlugin(name, { problem, ...rows[problem], cause });
  });
  const plugin = module.default ?? module.plugin;
  return isPlugin(plugin) ? plugin : toPlugin(name, Object.values(module));
}

/** Tools and providers that stand for themselves, as the standard protocol describes them. */
function toPlugin(name: string, exported: readonly unknown[]): Plugin | undefined {
  const parts = [...new Set(exported)];
  const tools = parts.filter((part) => has<ITool>(part, 'execute'));
  const providers = parts.filter((part) => has<IProvider>(part, 'generate'));
  if (tools.length + providers.length === 0) return undefined;
  return { name, setup: () => ({ tools, providers }) };
}

function toSetupFailure(name: string, cause: unknown): FabricError {
  if (isZodError(cause)) {
    const why = z.prettifyError(cause);
    const fix = `correct the config of plugin "${name}" in agent.json`;
    return brokenPlugin(name, { problem: 'bad_config', why, fix, cause });
  }
  const fix = FabricError.is(cause)
    ? String(cause.details.fix ?? 'see above')
    : 'correct the plugin or its config';
  return brokenPlugin(name, { problem: 'setup_failed', why: reasonOf(cause), fix, cause });
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
    const why = `its tool ${JSON.stringify(name ?? null)} is incomplete`;
    const fix = 'give every tool a name, a description, parameters and execute: use defineTool';
    throw brokenPlugin(plugin, { problem: 'bad_tool', why, fix });
  }
  const owner = owners.get(name);
  if (owner !== undefined) {
    const why = `its tool ${name} is also one of plugin "${owner}"`;
    const fix = 'rename one of them, or leave one plugin out';
    throw brokenPlugin(plugin, { problem: 'same_tool', why, fix });
  }
  owners.set(name, plugin);
  try {
    assertUsableSchema(tool);
  } catch (cause) {
    const fix = 'correct its parameters';
    throw brokenPlugin(plugin, { problem: 'bad_schema', why: reasonOf(cause), fix, cause });
  }
}

function isPlugin(value: unknown): value is Plugin {
  return has<Plugin>(value, 'setup');
}

function has<T extends object>(value: unknown, method: keyof T): value is T {
  if (typeof value !== 'object' || value === null) return false;
  return typeof Reflect.get(value, method) === 'function';
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function brokenPlugin(
  plugin: string,
  { cause, ...about }: { problem: string; why: string; fix: string; cause?: unknown },
): FabricError {
  return failure('plugin', { plugin, ...about }, cause === undefined ? {} : { cause });
}
