// Puts an agent together from its configuration. The one file of the runtime that knows every part;
// what was opened before something failed is closed again.

import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Clock,
  Closers,
  closestWord,
  FabricError,
  type Log,
  silentLog,
  systemClock,
} from '@starloom/core';
import type { IProvider, ITool } from '@starloom/sdk';
import { Agent, type AgentParts } from './agent.ts';
import type { HelperEntry } from './config/agent-file.ts';
import { type McpServerConfig, mcpServersOf, peersOf } from './config/agent-toml.ts';
import { checkToolNames } from './config/check-tool-names.ts';
import {
  type AgentConfig,
  type GivenConfig,
  loadAgentConfig,
  parseAgentConfig,
} from './config/load-agent-config.ts';
import { loadPlugins } from './config/load-plugins.ts';
import { constantsOf, rootsOf } from './config/operator-words.ts';
import { writeAlwaysRule } from './config/write-always-rule.ts';
import { DEFAULT_RETRY, type RetryRules } from './core/ask-model.ts';
import { EventBus } from './core/event-bus.ts';
import { createPermission } from './core/permission.ts';
import type { AlwaysRule, Approve, AskCaller, Workspace } from './core/seams.ts';
import { AgentSessions } from './core/sessions.ts';
import { ToolPath } from './core/tool-path.ts';
import { fixedSource, ToolRegistry } from './core/tool-registry.ts';
import { createDelegation } from './delegate/delegate-tool.ts';
import { HelperTeam } from './delegate/helper-team.ts';
import { AgentGuard } from './guard.ts';
import type { ServerToolSource } from './mcp/client/server-tool-source.ts';
import { isListed } from './mcp/client/to-tool.ts';
import type { Peers } from './peers/peers.ts';
import { BUILT_IN_PLUGINS } from './plugins/index.ts';
import { inWords } from './providers/in-words.ts';
import { openProvider } from './providers/index.ts';
import { failure } from './reasons.ts';
import { openAgentTelemetry, refusalsOn } from './telemetry.ts';
import { pinTools } from './tool-pins/tool-pins.ts';
import { OfferedTools } from './tool-search/offered-tools.ts';
import { createTrust } from './trust/create-trust.ts';
import { effectOf } from './trust/effect.ts';
import { PLAN_TOOL } from './trust/plans.ts';

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
  /** Absent: no tool can ask its caller. */
  readonly askCaller?: AskCaller | undefined;
  /** Sessions, decisions and notes are kept below it; absent: only as long as the agent lives. */
  readonly stateFolder?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Of an editor, for an agent that works in it. */
  readonly workspace?: Workspace;
  readonly log?: Log;
  readonly clock?: Clock;
  readonly retry?: RetryRules;
}

export async function openAgent(options: AgentOptions): Promise<Agent> {
  const closers = new Closers();
  try {
    return await assemble(options, closers);
  } catch (error) {
    await closers.close(() => {});
    throw FabricError.from(error);
  }
}

async function assemble(options: AgentOptions, closers: Closers): Promise<Agent> {
  const { approve, env = {}, workspace, clock = systemClock } = options;
  const config = await loadConfigOf(options, env, options.log ?? silentLog);
  const { agent, toml, folder } = config;
  const telemetry = openAgentTelemetry(agent, options.log ?? silentLog);
  const { log } = telemetry;
  closers.add(() => telemetry.close());
  const bus = new EventBus(log);
  const guard = new AgentGuard({ name: agent.name, clock, onRefused: refusalsOn(bus, clock) });
  const state = openState(options.stateFolder, guard.agentId, closers);
  const kept = options.stateFolder === undefined ? undefined : state;

  const host = { folder, env, log };
  const { user_trust: userTrust, ...policy } = toml.security;
  const offered = new OfferedTools(agent.tool_search, log);
  const registry = new ToolRegistry([], log, (tools) => [
    ...offered.derive(tools),
    ...trust.toolsFor(tools.values()),
  ]);
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
    rootsFor: rootsOf(config, workspace),
    constantsFor: constantsOf(config),
    tools: () => registry.tools,
  });
  closers.add(() => trust.close());
  closers.add(() => registry.close());
  const { verifier, labeller } = trust;

  const plugins = await loadPlugins(agent.plugins, {
    ...host,
    stateFolder: kept,
    workspace,
    builtIn: BUILT_IN_PLUGINS,
  });
  const servers = await openServers(config, workspace?.servers ?? [], log, clock);
  const peers = await openPeers(config, kept, log);
  const own = [
    fixedSource(options.tools ?? []),
    ...plugins.sources,
    ...(peers ? [peers.toSource()] : []),
  ];
  for (const source of [...own, ...servers]) registry.add(pinTools(source, trust.pins, log));
  // To list the tools of the servers would start them.
  const ownTools = own.flatMap((source) => source.list());
  checkToolNames(toml, new Map(ownTools.map((tool) => [tool.name, tool])), []);
  const checkNames = () => {
    const health = servers.map((server) => server.health);
    checkToolNames(toml, registry.tools, health);
  };

  const provider = inWords(
    options.provider ?? (await openConfigured(agent.provider, plugins.providers, host, closers)),
  );
  const team = new HelperTeam({
    parts: () => parts,
    agentName: agent.name,
    providers: await openProviders(
      agent.helpers.filter((helper) => !helper.process),
      plugins.providers,
      host,
      closers,
    ),
    runInProcess: async (work) => {
      const { runInProcess } = await import('./delegate/helper-process.ts');
      return await runInProcess(work, { folder, env, provider: agent.provider });
    },
  });
  const gateway = agent.plugins.some(({ name }) => name === 'fabric')
    ? (await import('./plugins/fabric/index.ts')).gatewayOf(ownTools)
    : undefined;
  const delegate = createDelegation({
    ...{ helpers: agent.helpers, team, guard, clock },
    peers: peers?.named ?? new Map(),
    gateway: gateway
      ? (name, tools) => gateway.peer(name, tools)
      : toml.a2a.directory && peers && ((name) => peers.get(name)),
  });
  if (delegate) registry.add(fixedSource([delegate]));
  telemetry.observe(bus, (name) => registry.get(name)?.source);
  const parts: AgentParts = {
    config,
    guard,
    provider,
    models: await openProviders(agent.models, plugins.providers, host, closers),
    reading: () => {
      const all = [...registry.tools.values()].filter((tool) => effectOf(tool) === 'read');
      // Without acts there is nothing to plan.
      return new Set(all.map(({ name }) => name).filter((name) => name !== PLAN_TOOL));
    },
    registry,
    offered,
    checkNames,
    labeller,
    bus,
    sessions: new AgentSessions({ folder: kept && join(kept, 'sessions'), labeller, clock, log }),
    toolPath: new ToolPath({
      registry,
      permission: createPermission(agent.mcp),
      verifier,
      labeller,
      approve,
      askCaller: options.askCaller,
      onAlways: async (rule) => {
        trust.allow(rule);
        if (options.path !== undefined) await keepRule(folder, rule, log);
      },
      clock,
      log,
    }),
    system: agent.system_prompt === undefined ? undefined : labeller.ofSystem(agent.system_prompt),
    limits: agent.limits,
    retry: options.retry ?? DEFAULT_RETRY,
    wait: (ms, signal) => delay(ms, undefined, { signal }),
    clock,
    log,
    closers,
  };
  return new Agent(parts);
}

async function loadConfigOf(
  { path, config, provider }: AgentOptions,
  env: NonNullable<AgentOptions['env']>,
  log: Log,
): Promise<AgentConfig> {
  if (path === undefined && config === undefined) {
    throw failure('config/no_agent');
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

/** The rule holds in this process even when it cannot be written. */
async function keepRule(folder: string, rule: AlwaysRule, log: Log): Promise<void> {
  try {
    const file = await writeAlwaysRule(folder, rule);
    log.info({ file, tool: rule.tool }, 'calls of a tool are allowed from now on');
  } catch (error) {
    const { message, details } = FabricError.from(error);
    log.warn({ fix: details.fix }, message);
  }
}

/** Trust needs a place to write down what it decides, even where nothing is to be kept. */
function openState(stateFolder: string | undefined, agentId: string, closers: Closers): string {
  if (stateFolder !== undefined) return agentStateFolder(stateFolder, agentId);
  // Created by the first write, for its owner alone.
  const folder = join(tmpdir(), `starloom-agent-${randomUUID()}`);
  closers.add(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Nothing is started yet. Their client is loaded only where there are some. */
async function openServers(
  { agent: { name, version }, toml, folder }: AgentConfig,
  ofEditor: readonly McpServerConfig[],
  log: Log,
  clock: Clock,
): Promise<ServerToolSource[]> {
  const servers = [...mcpServersOf(toml), ...ofEditor];
  if (servers.length === 0) return [];
  const { ServerToolSource } = await import('./mcp/client/server-tool-source.ts');
  const options = { folder, client: { name, version }, log, clock };
  return servers.map((config) => new ServerToolSource(config, options));
}

/** By name, of those that have one. */
async function openProviders(
  owners: readonly Pick<HelperEntry, 'name' | 'provider'>[],
  ...rest: [readonly IProvider[], Parameters<typeof openProvider>[1], Closers]
): Promise<ReadonlyMap<string, IProvider>> {
  const opened = new Map<string, IProvider>();
  for (const { name, provider } of owners) {
    if (provider) opened.set(name, inWords(await openConfigured(provider, ...rest)));
  }
  return opened;
}

/** The agents that tasks may be given to; loaded only where agent.toml names some. */
async function openPeers(
  { toml }: AgentConfig,
  folder: string | undefined,
  log: Log,
): Promise<Peers | undefined> {
  const { peers, directory } = peersOf(toml);
  if (peers.length === 0 && !directory) return undefined;
  const { Peers } = await import('./peers/peers.ts');
  return new Peers({ peers, directory, folder, log });
}

async function openConfigured(
  config: AgentConfig['agent']['provider'],
  brought: readonly IProvider[],
  host: Parameters<typeof openProvider>[1],
  closers: Closers,
): Promise<IProvider> {
  if (config.kind !== 'plugin') {
    const provider = await openProvider(config, host);
    closers.add(() => provider.close());
    return provider;
  }
  const found = brought.find(({ name }) => name === config.name);
  if (found) return found;
  const names = brought.map(({ name }) => name);
  const near = closestWord(config.name, names);
  throw failure('no_such_provider', {
    provider: config.name,
    providers: names,
    fix: near && `write "${near}"`,
  });
}

/** Below the folder of all state: what this one agent keeps. */
export function agentStateFolder(stateFolder: string, agentId: string): string {
  return join(stateFolder, 'agents', agentId);
}
