// Puts an agent together from its configuration. The one file of the runtime that knows every part;
// what was opened before something failed is closed again.

import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Clock,
  closestWord,
  FabricError,
  type Log,
  silentLog,
  systemClock,
} from '@starloom/core';
import type { IProvider, ITool } from '@starloom/sdk';
import { childEnvironment } from '@starloom/wire';
import { Agent } from './agent.ts';
import {
  type AgentConfig,
  checkToolNames,
  type GivenConfig,
  loadAgentConfig,
  loadPlugins,
  mcpServersOf,
  parseAgentConfig,
  writeToolRule,
} from './config/index.ts';
import { EventBus } from './core/event-bus.ts';
import { createPermission } from './core/permission.ts';
import { DEFAULT_RETRY, type RetryRules } from './core/retry.ts';
import type { Approve } from './core/seams.ts';
import { AgentSessions } from './core/sessions.ts';
import { ToolPath } from './core/tool-path.ts';
import { fixedSource, ToolRegistry } from './core/tool-registry.ts';
import { AgentGuard } from './guard.ts';
import type { McpServers } from './mcp/client/mcp-servers.ts';
import { isListed } from './mcp/client/to-tool.ts';
import { BUILT_IN_PLUGINS } from './plugins/index.ts';
import { inWords } from './providers/in-words.ts';
import { openProvider } from './providers/index.ts';
import { OfferedTools } from './tool-search/offered-tools.ts';
import { createTrust, foldersIn, pinTools } from './trust/index.ts';

export interface AgentOptions {
  /** An `agent.json`, or the folder of one. */
  readonly path?: string;
  /** Instead of `path`: what would stand in the files. */
  readonly config?: GivenConfig;
  /** Instead of the one that is configured. */
  readonly provider?: IProvider;
  /** Besides those of the plugins. */
  readonly tools?: readonly ITool[];
  /** Absent: no person can be asked, and a call that needs approval is denied. */
  readonly approve?: Approve;
  /** Sessions, decisions and notes are kept below it; absent: only as long as the agent lives. */
  readonly stateFolder?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Log;
  readonly clock?: Clock;
  readonly retry?: RetryRules;
}

type Closer = () => Promise<unknown>;

export async function openAgent(options: AgentOptions): Promise<Agent> {
  const closers: Closer[] = [];
  try {
    return await assemble(options, closers);
  } catch (error) {
    for (const close of closers) await close().catch(() => {});
    throw FabricError.from(error);
  }
}

/** `closers` grows as parts are opened: the last one opened is the first one closed. */
async function assemble(options: AgentOptions, closers: Closer[]): Promise<Agent> {
  const { approve, env = {}, log = silentLog, clock = systemClock } = options;
  const config = await loadConfigOf(options, env, log);
  const { agent, toml, folder } = config;
  const guard = new AgentGuard({ name: agent.name, clock });
  const state = openState(options.stateFolder, guard.agentId, closers);

  const host = { folder, env, log };
  const { user_trust: userTrust, ...policy } = toml.security;
  const offered = new OfferedTools(agent.tool_search, log);
  const registry = new ToolRegistry([], log, offered.derive);
  const listed = mcpServersOf(toml)
    .filter(({ allowed_tools }) => isListed(allowed_tools))
    .map(({ name }) => `mcp:${name}`);
  const given = (options.tools ?? []).flatMap(({ source }) => source ?? []);
  const trust = createTrust({
    policy: {
      ...policy,
      vetted_descriptions: [...policy.vetted_descriptions, ...listed, ...given],
    },
    userTrust,
    clock,
    folder: state,
    log,
    rootsFor: rootsOf(config),
    toolNamed: (name) => registry.get(name),
  });
  closers.unshift(() => trust.close());
  closers.unshift(() => registry.close());
  const { verifier, labeller } = trust;

  const plugins = await loadPlugins(agent.plugins, {
    ...host,
    stateFolder: options.stateFolder && state,
    builtIn: BUILT_IN_PLUGINS,
  });
  const servers = await openServers(config, log, clock);
  const own = [fixedSource([...(options.tools ?? []), ...trust.tools]), ...plugins.sources];
  for (const source of servers ? [...own, servers] : own) {
    registry.add(pinTools(source, trust.pins, log));
  }
  // To list the tools of the servers would start them.
  const ownTools = own.flatMap((source) => source.list());
  checkToolNames(toml, new Map(ownTools.map((tool) => [tool.name, tool])), []);
  const checkNames = () => checkToolNames(toml, registry.tools, servers?.health ?? []);

  const provider =
    options.provider ?? (await openConfigured(agent, plugins.providers, host, closers));
  const { money, ...limits } = agent.limits;
  return new Agent({
    config,
    guard,
    provider: inWords(provider),
    registry,
    offered,
    checkNames,
    labeller,
    bus: new EventBus(log),
    sessions: new AgentSessions({ folder: sessionFolder(options, state), labeller, clock, log }),
    toolPath: new ToolPath({
      registry,
      permission: createPermission(agent.mcp),
      verifier,
      labeller,
      approve,
      onAlways: async ({ name }) => {
        trust.allow(name);
        if (options.path !== undefined) await keepRule(folder, name, log);
      },
      clock,
      log,
    }),
    system: agent.system_prompt === undefined ? undefined : labeller.ofSystem(agent.system_prompt),
    limits: { ...limits, money: money?.limit },
    prices: money,
    retry: options.retry ?? DEFAULT_RETRY,
    wait: (ms, signal) => delay(ms, undefined, { signal }),
    clock,
    log,
    closers,
  });
}

async function loadConfigOf(
  { path, config, provider }: AgentOptions,
  env: NonNullable<AgentOptions['env']>,
  log: Log,
): Promise<AgentConfig> {
  if (path === undefined && config === undefined) {
    throw new FabricError('BAD_INPUT', 'There is no agent to open', {
      details: { reason: 'config', fix: 'pass the path of an agent.json, or its config' },
    });
  }
  const loaded =
    config === undefined
      ? await loadAgentConfig(path ?? '.', env)
      : await parseAgentConfig(withProvider(config, provider), env);
  for (const { file, key, message, fix } of loaded.warnings) log.warn({ file, key, fix }, message);
  return loaded;
}

function withProvider(config: GivenConfig, provider: IProvider | undefined): GivenConfig {
  if (provider === undefined || config.agent.provider !== undefined) return config;
  const named = { kind: 'plugin', name: provider.name } as const;
  return { ...config, agent: { ...config.agent, provider: named } };
}

/**
 * Folders below which a file may be named without them: those of the agent and of `fs` for every tool, those
 * that the operator wrote into the arguments or the environment of an MCP server for its own tools.
 */
function rootsOf({ agent, toml, folder }: AgentConfig): (tool: ITool) => readonly string[] {
  const ofFiles = agent.plugins.flatMap(({ name, config }) => {
    const roots: unknown = name === 'fs' ? Object(config).roots : [];
    return Array.isArray(roots) ? roots.map(String) : [];
  });
  const shared = ['.', ...ofFiles].map((root) => resolve(folder, root));
  const bySource = new Map(
    mcpServersOf(toml).map(({ name, command = [], env = {} }) => {
      const words = [...command.slice(1), ...Object.values(env)];
      const own = foldersIn(words, folder, childEnvironment({ extra: env }).HOME);
      return [`mcp:${name}`, [...shared, ...own]];
    }),
  );
  return ({ source = '' }) => bySource.get(source) ?? shared;
}

/** The rule holds in this process even when it cannot be written. */
async function keepRule(folder: string, tool: string, log: Log): Promise<void> {
  try {
    log.info({ file: await writeToolRule(folder, tool), tool }, 'a tool is allowed from now on');
  } catch (error) {
    const { message, details } = FabricError.from(error);
    log.warn({ fix: details.fix }, message);
  }
}

/** Trust needs a place to write down what it decides, even where nothing is to be kept. */
function openState(stateFolder: string | undefined, agentId: string, closers: Closer[]): string {
  if (stateFolder !== undefined) return agentStateFolder(stateFolder, agentId);
  const folder = passingStateFolder();
  closers.unshift(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function sessionFolder({ stateFolder }: AgentOptions, state: string): string | undefined {
  return stateFolder === undefined ? undefined : join(state, 'sessions');
}

/** Loaded only where they are used. */
async function openServers(
  { agent: { name, version }, toml, folder }: AgentConfig,
  log: Log,
  clock: Clock,
): Promise<McpServers | undefined> {
  const servers = mcpServersOf(toml);
  if (servers.length === 0) return undefined;
  const { McpServers } = await import('./mcp/client/mcp-servers.ts');
  return new McpServers(servers, { folder, client: { name, version }, log, clock });
}

async function openConfigured(
  { provider: config }: AgentConfig['agent'],
  brought: readonly IProvider[],
  host: Parameters<typeof openProvider>[1],
  closers: Closer[],
): Promise<IProvider> {
  if (config.kind !== 'plugin') {
    const provider = await openProvider(config, host);
    closers.unshift(() => provider.close());
    return provider;
  }
  const found = brought.find(({ name }) => name === config.name);
  if (found) return found;
  const names = brought.map(({ name }) => name);
  const near = closestWord(config.name, names);
  throw new FabricError('BAD_INPUT', `No plugin brings a provider "${config.name}"`, {
    details: {
      reason: 'no_such_provider',
      providers: names,
      fix: near ? `write "${near}"` : 'add the plugin that brings it to plugins in agent.json',
    },
  });
}

/** Below the folder of all state: what this one agent keeps. */
export function agentStateFolder(stateFolder: string, agentId: string): string {
  return join(stateFolder, 'agents', agentId);
}

/** For an agent that keeps nothing; created by the first write, for its owner alone. */
function passingStateFolder(): string {
  return join(tmpdir(), `starloom-agent-${randomUUID()}`);
}
