// An agent's two files, read through the one loader: `agent.json`, and `agent.toml` beside it where
// there is one. Every problem is reported with its place; nothing starts with a bad file.

import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type FlagOverride, loadConfig, type Problem } from '@starloom/config';
import {
  type AgentFile,
  type AgentFileInput,
  agentFileSchema,
  withExposure,
} from './agent-file.ts';
import { type AgentToml, type AgentTomlInput, agentTomlSchema } from './agent-toml.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface AgentConfig {
  readonly agent: AgentFile;
  readonly toml: AgentToml;
  /** Where relative paths begin. */
  readonly folder: string;
  readonly warnings: readonly Problem[];
}

const AGENT_FILE = 'agent.json';
const TOML_FILE = 'agent.toml';

/** `path` is an `agent.json`, or the folder of one. */
export async function loadAgentConfig(path: string, env: Env): Promise<AgentConfig> {
  const file = isFolder(path) ? join(path, AGENT_FILE) : path;
  const toml = join(dirname(resolve(file)), TOML_FILE);
  const missingFix = 'write one with "starloom agent init", or name another file';
  const loaded = await loadConfig({ path: file, schema: agentFileSchema, env, missingFix });
  const beside = await loadConfig({
    path: existsSync(toml) ? join(dirname(file), TOML_FILE) : undefined,
    schema: agentTomlSchema,
    env,
  });
  return {
    agent: withExposure(loaded.value),
    toml: beside.value,
    folder: loaded.folder,
    warnings: [...loaded.warnings, ...beside.warnings],
  };
}

export interface GivenConfig {
  /** `provider` may be left out when the program brings one itself. */
  readonly agent: Omit<AgentFileInput, 'provider'> & Partial<Pick<AgentFileInput, 'provider'>>;
  readonly toml?: AgentTomlInput;
  readonly folder: string;
}

/** The same for what a program brings instead of files. */
export async function parseAgentConfig(given: GivenConfig, env: Env): Promise<AgentConfig> {
  const { folder: cwd, toml: settings = {} } = given;
  const known = { env, cwd };
  const flags = toFlags(given.agent);
  const agent = await loadConfig({ ...known, schema: agentFileSchema, flags });
  const toml = await loadConfig({ ...known, schema: agentTomlSchema, flags: toFlags(settings) });
  const warnings = [...agent.warnings, ...toml.warnings];
  return { agent: withExposure(agent.value), toml: toml.value, folder: resolve(cwd), warnings };
}

function toFlags(given: object): FlagOverride[] {
  return Object.entries(given).map(([key, value]) => ({ name: 'config', path: [key], value }));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
