// What the operator wrote into the files of an agent: the folders that its tools work in, and the words in the
// settings of its MCP servers. A call may use these though the user did not name them.

import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { ITool } from '@starloom/sdk';
import { childEnvironment } from '@starloom/wire';
import type { Workspace } from '../core/seams.ts';
import { DELEGATE } from '../delegate/delegate-tool.ts';
import { mcpServersOf } from './agent-toml.ts';
import type { AgentConfig } from './load-agent-config.ts';

const SECRET_NAME = /key|token|secret|pass|credential|auth/i;

/**
 * Folders below which a file may be named without them: those of the agent and of `fs` for every tool, those
 * that the operator wrote into the arguments or the environment of an MCP server for its own tools.
 */
export function rootsOf(
  { agent, toml, folder }: AgentConfig,
  workspace: Workspace | undefined,
): (tool: ITool) => readonly string[] {
  const ofFiles = agent.plugins.flatMap(({ name, config }) => {
    const roots: unknown = name === 'fs' ? Object(config).roots : [];
    return Array.isArray(roots) ? roots.map(String) : [];
  });
  const own = ['.', ...ofFiles].map((root) => resolve(folder, root));
  const shared = workspace ? [workspace.folder, ...own] : own;
  const bySource = new Map(
    mcpServersOf(toml).map(({ name, command = [], env = {} }) => {
      const words = [...command.slice(1), ...Object.values(env)];
      const named = foldersIn(words, folder, childEnvironment({ extra: env }).HOME);
      return [`mcp:${name}`, [...shared, ...named]];
    }),
  );
  return ({ source = '' }) => bySource.get(source) ?? shared;
}

/** What the operator wrote for a server names no secret: the project, the repository, the account it works on. */
export function constantsOf({ agent, toml }: AgentConfig): (tool: ITool) => readonly string[] {
  const bySource = new Map(
    mcpServersOf(toml).map(({ name, command = [], env = {} }) => {
      const words = command.slice(1).map((word) => word.replace(/^--?[^=]*=/, ''));
      const settings = Object.entries(env).filter(([key]) => !SECRET_NAME.test(key));
      return [`mcp:${name}`, [...words, ...settings.map(([, value]) => value)]];
    }),
  );
  const helpers = [...agent.helpers, ...toml.a2a.peers].map(({ name }) => name);
  return ({ name, source = '' }) => (name === DELEGATE ? helpers : (bySource.get(source) ?? []));
}

/**
 * The folders that words of a configuration name, also as what they link to. A path counts by its shape, a
 * plain word when there is such a folder; `--root=data` by its value, a list (`a:b`) by its parts, too.
 */
export function foldersIn(words: readonly string[], folder: string, home = '~'): string[] {
  const found = words.flatMap(toParts).flatMap((part) => {
    const path = resolve(folder, part.replace(/^~(?=\/|$)/, home));
    const real = realFolder(path);
    if (real !== undefined) return [path, real];
    return isAbsolute(part) || /^(?:\.|~\/)/.test(part) ? [path] : [];
  });
  return [...new Set(found)];
}

function toParts(word: string): string[] {
  const value = word.replace(/^-[^=]*(?:=|$)/, '').replace(/^file:\/\/(?=\/)/, '');
  return [value, ...value.split(/[:;,]/)].filter((part) => part !== '' && !part.startsWith('//'));
}

/** What cannot be looked at is no folder: most words of a configuration are none. */
function realFolder(path: string): string | undefined {
  try {
    const real = realpathSync(path);
    return statSync(real).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}
