// The agent as it is in one folder of an editor, with the MCP servers that the editor names. Sessions of the same
// folder and servers share one; it is closed when the last of them ends.

import { realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { type McpServer, type NewSessionRequest, RequestError } from '@agentclientprotocol/sdk';
import type { Log } from '@starloom/core';
import type { Agent } from '../agent.ts';
import type { AgentToml, McpServerConfig } from '../config/agent-toml.ts';
import type { EditorAccess, Workspace } from '../core/seams.ts';

export type OpenFor = (workspace: Workspace) => Promise<Agent>;

export interface WorkspacesOptions {
  readonly agent: Agent;
  /** Opens the agent for a folder; absent: the agent works in its own. */
  readonly openFor?: OpenFor | undefined;
  readonly log: Log;
}

export interface Entered {
  readonly agent: Agent;
  readonly folder: string;
  leave(): void;
}

interface Opened {
  readonly agent: Promise<Agent>;
  users: number;
}

export class Workspaces {
  readonly #options: WorkspacesOptions;
  readonly #opened = new Map<string, Opened>();
  readonly #closing = new Set<Promise<void>>();

  constructor(options: WorkspacesOptions) {
    this.#options = options;
  }

  /** Rejects with invalid params when the folder is none. */
  async enter(
    { cwd, mcpServers }: Pick<NewSessionRequest, 'cwd' | 'mcpServers'>,
    editor: EditorAccess | undefined,
  ): Promise<Entered> {
    const { agent, openFor } = this.#options;
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, 'cwd must be absolute');
    const servers = this.#toServers(mcpServers);
    if (!openFor) return { agent, folder: agent.config.folder, leave: () => {} };
    const found = await stat(cwd).catch(() => undefined);
    if (!found?.isDirectory()) throw RequestError.invalidParams({ cwd }, 'cwd is no folder');
    const folder = await realpath(cwd);
    const key = JSON.stringify([folder, servers]);
    const opened = this.#opened.get(key) ?? {
      agent: openFor({ folder, servers, editor }),
      users: 0,
    };
    this.#opened.set(key, opened);
    opened.users += 1;
    const leave = () => {
      opened.users -= 1;
      if (opened.users > 0 || this.#opened.get(key) !== opened) return;
      this.#opened.delete(key);
      const closing = opened.agent.then((one) => one.close()).catch(() => {});
      this.#closing.add(closing);
      void closing.finally(() => this.#closing.delete(closing));
    };
    try {
      return { agent: await opened.agent, folder, leave };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Resolves when nothing of those runs that were left. */
  async close(): Promise<void> {
    await Promise.all(this.#closing);
  }

  #toServers(given: readonly McpServer[]): McpServerConfig[] {
    const { agent, openFor, log } = this.#options;
    const { toml } = agent.config;
    const own = new Set(toml.mcp.servers.map(({ name }) => name));
    const refused: string[] = [];
    const servers = given.flatMap((server) => {
      const config = toConfig(server);
      const isUsed = openFor && config && isListed(toml, server.name) && !own.has(config.name);
      if (!isUsed) refused.push(server.name);
      return isUsed ? [config] : [];
    });
    if (refused.length > 0) {
      const fix = 'list them in [acp] mcp_servers, or add them to [[mcp.servers]] of agent.toml';
      log.warn({ servers: refused.join(', '), fix }, 'MCP servers of the editor are not used');
    }
    return servers;
  }
}

/** Not set: all; what their tools say is then unvetted. */
function isListed({ acp }: AgentToml, name: string): boolean {
  return acp.mcp_servers?.includes(name) ?? true;
}

/** `undefined` for transports that the agent does not speak. */
function toConfig(server: McpServer): McpServerConfig | undefined {
  const name = server.name.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^[_-]+/, '');
  const named = { name: name.slice(0, 31) || 'editor' };
  if (!('type' in server)) {
    const { command, args, env } = server;
    return { ...named, command: [command, ...args], env: toRecord(env) };
  }
  if (server.type !== 'http') return undefined;
  return { ...named, url: server.url, headers: toRecord(server.headers) };
}

function toRecord(pairs: readonly { readonly name: string; readonly value: string }[]) {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}
