// Where a command adds and removes agents. In this order: the file that a configuration names or that is
// in this folder; what the gateway running on this machine reads, a file or a registry; a new file here.

import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoadedConfig } from '@starloom/config';
import { type FabricError, isObject, type Manifest } from '@starloom/core';
import { findGatewayConfig, type GatewayConfig, loadGatewayConfig } from '@starloom/gateway/config';
import {
  type AgentsFileChange,
  changeAgentsFile,
  readAgentsFile,
  toManifestEntry,
} from '@starloom/registry';
import type { GlobalOptions } from '../command-line.ts';
import { connectToGateway, type GatewayClient } from '../gateway-client.ts';
import { OPTION_SCHEMAS } from '../option-schemas.ts';
import { failure } from '../reasons.ts';
import { upstreamLines } from '../report-error.ts';
import { gatewayFile, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import type { AgentView } from '../tool-payloads.ts';

export interface AgentsPlace extends AsyncDisposable {
  /** Absolute; undefined where the agents are in the registry of the gateway that runs. */
  readonly file: string | undefined;
  /** The agents that are there; of a registry without what may hold secrets. */
  agents(): Promise<readonly Manifest[]>;
  /** All of the change is done, or in a file none of it. */
  change(change: AgentsFileChange, options?: { readonly backup?: string }): Promise<void>;
  /** As a person here would write it. */
  readonly shown: string;
  readonly folder: string;
  readonly isNew: boolean;
  /** The gateway that runs and reads this file, if one does. */
  readonly gateway: GatewayClient | undefined;
  readonly samples: boolean;
  /** The file that a running gateway reads instead of this one. */
  readonly servedInstead: string | undefined;
}

export async function findAgentsPlace(
  terminal: Terminal,
  options: GlobalOptions,
): Promise<AgentsPlace> {
  const { env, cwd } = terminal;
  const where = { path: options.config, env, cwd };
  const loaded = await loadGatewayConfig({ ...where, resolveSecrets: false });
  const own = agentsFileOf(loaded);
  if (own === undefined) return await registryPlace(terminal, loaded.folder);
  const isOwn = await isChosen(where, loaded, own);
  const running = await findRunning(terminal);
  const served = running?.known.agents_file;
  if (!isOwn && running && served === undefined) {
    await running.client[Symbol.asyncDispose]();
    return await registryPlace(terminal, loaded.folder);
  }
  const file = isOwn || served === undefined ? own : served;
  const isServed = served === file;
  if (!isServed) await running?.client[Symbol.asyncDispose]();
  const gateway = isServed ? running?.client : undefined;
  const isNear = !relative(cwd, file).startsWith('..');
  return {
    file,
    agents: async () =>
      existsSync(file) ? await readAgentsFile(file, { optionSchemas: OPTION_SCHEMAS }) : [],
    change: async (change, options) => {
      const rules = { create: true, optionSchemas: OPTION_SCHEMAS };
      await changeAgentsFile(file, change, { ...rules, ...options });
    },
    shown: isNear ? relative(cwd, file) : file,
    folder: isOwn ? loaded.folder : dirname(file),
    isNew: !existsSync(file),
    gateway,
    samples: isServed && running?.known.samples === true,
    servedInstead: isServed ? undefined : served,
    [Symbol.asyncDispose]: async () => gateway?.[Symbol.asyncDispose](),
  };
}

function agentsFileOf({ value, folder }: LoadedConfig<GatewayConfig>): string | undefined {
  const { registry } = value;
  return registry.kind === 'yaml' ? resolve(folder, registry.path) : undefined;
}

/** The registry of the gateway that runs: it writes what the command asks for. */
async function registryPlace(terminal: Terminal, folder: string): Promise<AgentsPlace> {
  const gateway = await connectToGateway(terminal);
  return {
    file: undefined,
    agents: async () => {
      const { agents } = await gateway.call('fabric.agent.list', {});
      return agents.map((agent) => ({ ...agent, capabilities: [...agent.capabilities] }));
    },
    change: async ({ put = [], remove = [] }) => {
      for (const { agentId: agent_id, nodeId: node_id } of remove) {
        await gateway.call('fabric.agent.remove', { agent_id, node_id });
      }
      for (const manifest of put.map(toManifestEntry)) {
        await gateway.call('fabric.agent.register', { manifest, lease_ms: 0 });
      }
    },
    shown: `the registry of ${gateway.url}`,
    folder,
    isNew: false,
    gateway,
    samples: false,
    servedInstead: undefined,
    [Symbol.asyncDispose]: async () => gateway[Symbol.asyncDispose](),
  };
}

/** Whether this folder or a configuration says which file it is. */
async function isChosen(
  where: Parameters<typeof findGatewayConfig>[0],
  { origins }: LoadedConfig<GatewayConfig>,
  file: string,
): Promise<boolean> {
  if (existsSync(file) || (await findGatewayConfig(where)) !== undefined) return true;
  return (origins.get('registry.path')?.kind ?? 'default') !== 'default';
}

async function findRunning(terminal: Terminal) {
  const known = await gatewayFile.read(stateFolder(terminal.env));
  if (known === undefined) return undefined;
  const client = await connectToGateway(terminal).catch(() => undefined);
  if (client?.url === known.url) return { known, client };
  await client?.[Symbol.asyncDispose]();
  return undefined;
}

// After a file of agents changed: waits until the gateway that reads it has seen the change, and
// says what the new agent offers or why it cannot be reached.

interface AwaitOptions {
  readonly agentId: string;
  /** When the file was written: an older state of an agent with this id does not count. */
  readonly since: number;
  readonly waitMs?: number;
  /** An agent that has not answered by then is reported, with what it wrote. */
  readonly reportMs?: number;
}

const POLL_MS = 150;
const WAIT_MS = 60_000;
const REPORT_MS = 6_000;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** The agent once it is reachable. AGENT_OFFLINE with what the gateway knows when it is not. */
export async function awaitAgent(
  terminal: Terminal,
  gateway: GatewayClient,
  { agentId, since, waitMs = WAIT_MS, reportMs = REPORT_MS }: AwaitOptions,
): Promise<AgentView> {
  const began = performance.now();
  let isReported = false;
  for (let round = 0; ; round += 1) {
    const agent = await findAgent(gateway, agentId);
    const health = agent?.health;
    const isFresh = Date.parse(health?.checked_at ?? '') >= since;
    if (isFresh && (health?.status === 'online' || health?.status === 'degraded')) {
      const { agent: found } = await gateway.call('fabric.agent.describe', { agent_id: agentId });
      // One that answers, but refuses to say what it offers, is of no use yet.
      if (health.status === 'online' || found.capabilities.length > 0) return found;
      throw notReached(agentId, found, 0);
    }
    const waited = performance.now() - began;
    const isRefused = isFresh && health?.status === 'offline';
    const isSilent = isFresh && waited > reportMs;
    // A program that writes something other than MCP to stdout does not become a server by waiting.
    const hasStrayed = isSilent && isObject(health?.upstream) && 'stdout' in health.upstream;
    if (isRefused || hasStrayed || waited > waitMs) throw notReached(agentId, agent, waited);
    if (isSilent && !isReported) {
      isReported = true;
      const { message, details } = notReached(agentId, agent, waited);
      const facts = [...upstreamLines(details.upstream), `fix: ${details.fix}`];
      const last = `waiting for up to ${Math.round((waitMs - waited) / 1000)} s more …`;
      terminal.tell([message, ...facts, last].join('\n  '));
    }
    const frame = FRAMES[round % FRAMES.length];
    terminal.showStatus(`${frame} ${agentId}: ${health?.status ?? 'waiting for the gateway'} …`);
    await delay(POLL_MS);
  }
}

/** Resolves when the gateway no longer lists the agent; false when it still does. */
export async function awaitRemoval(
  gateway: GatewayClient,
  agentId: string,
  waitMs: number,
): Promise<boolean> {
  const began = performance.now();
  while ((await findAgent(gateway, agentId)) !== undefined) {
    if (performance.now() - began > waitMs) return false;
    await delay(POLL_MS);
  }
  return true;
}

async function findAgent(gateway: GatewayClient, agentId: string): Promise<AgentView | undefined> {
  const { agents } = await gateway.call('fabric.agent.list', {});
  return agents.find(({ agent_id }) => agent_id === agentId);
}

function notReached(agentId: string, agent: AgentView | undefined, waited: number): FabricError {
  const seconds = Math.round(waited / 1000);
  if (agent === undefined) return failure('not_loaded', { agent_id: agentId });
  const { status, message, upstream, fix: cure } = agent.health;
  const isOver = status === 'offline' || status === 'degraded';
  const state = isOver ? `is ${status}` : `is still ${status} after ${seconds} s`;
  const why = message ?? (isOver ? 'the gateway cannot reach it' : 'it has not answered');
  const again = cure ?? `correct it with "starloom agents add --force ${agentId} …"`;
  const fix = `${again}, or remove it with "starloom agents remove ${agentId}"`;
  const facts = { reason: status, why, state, upstream, fix };
  return failure('not_reached', { agent_id: agentId, ...facts });
}
