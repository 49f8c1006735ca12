// The manifest of a foreign server: a program, or an address. It names no
// capabilities: the gateway asks the server what it offers.

import { resolve } from 'node:path';
import { EDITOR_AGENT_PRESETS, type EditorAgentPreset } from '@starloom/adapters';
import {
  closestWord,
  type FabricError,
  type Manifest,
  type ManifestInput,
  manifestSchema,
  normalName,
} from '@starloom/core';
import { type AgentFile, isExposed } from '@starloom/runtime';
import type { z } from 'zod';
import { OWN_COMMAND } from '../own-command.ts';
import { failure } from '../reasons.ts';
import { toUsageError } from '../report-error.ts';
import { toAgentId } from '../to-agent-id.ts';
import type { AddOptions } from './agents.ts';

interface ServerPlace {
  readonly cwd: string;
  readonly folder: string;
}

/** Transports by the protocols that do not speak over standard input and output as MCP does. */
const PROCESS_PROTOCOLS = ['local-process', 'process'];

export function toCommandManifest(
  name: string,
  [command = '', ...args]: readonly string[],
  options: AddOptions,
  place: ServerPlace,
): Manifest {
  if (command.startsWith('-')) {
    throw failure('usage/name', { command: [name, command, ...args].join(' ') });
  }
  const transport = PROCESS_PROTOCOLS.includes(options.protocol ?? '') ? 'process' : 'stdio';
  if (options.header !== undefined) throw toUsageError('--header goes with a URL');
  const settings = ownFolder(place);
  return toServerManifest(name, options, {
    transport,
    ...(options.protocol !== undefined && { protocol: options.protocol }),
    command,
    ...(args.length > 0 && { args }),
    ...(options.env && { env: options.env }),
    ...(settings && { options: settings }),
  });
}

/** A program runs where its command was typed. */
function ownFolder({ cwd, folder }: ServerPlace) {
  return resolve(cwd) === resolve(folder) ? undefined : { cwd: resolve(cwd) };
}

export function toUrlManifest(url: string, options: AddOptions): Manifest {
  if (!URL.canParse(url)) throw toUsageError(`"${url}" is no URL`);
  if (options.env !== undefined) throw toUsageError('--env goes with a command');
  const name = options.name ?? nameOfUrl(new URL(url));
  const zero = options.protocol === 'mcp' ? undefined : toAgentZero(new URL(url), options);
  if (zero) return toServerManifest(name, options, zero);
  return toServerManifest(name, options, {
    transport: 'http',
    ...(options.protocol !== undefined && { protocol: options.protocol }),
    uri: url,
    ...(options.header && { headers: options.header }),
  });
}

const AGENT_ZERO_PATH = /^(.*)\/(?:mcp|a2a)\/t-([^/]+)(?:\/p-([^/]+))?(?:\/.*)?$/;

/**
 * `http://host/mcp/t-<token>/p-<project>/http/` and `http://host/a2a/t-<token>/`, as Agent Zero shows
 * them. The token, one for all its interfaces, moves to where secrets belong: everyone may list a URL.
 */
function toAgentZero(
  { pathname, origin }: URL,
  { header, protocol = 'agent-zero' }: AddOptions,
): ManifestInput['endpoint'] | undefined {
  const [, base, token, project] = AGENT_ZERO_PATH.exec(pathname) ?? [];
  if (base === undefined || token === undefined) return undefined;
  const isGiven = Object.keys(header ?? {}).some((name) => /^x-api-key$/i.test(name));
  return {
    transport: 'http',
    protocol,
    uri: new URL(base === '' ? '/' : base, origin).href,
    headers: { ...(!isGiven && { 'X-API-KEY': decodeURIComponent(token) }), ...header },
    ...(project !== undefined && { options: { project: decodeURIComponent(project) } }),
  };
}

export function toServerManifest(
  name: string,
  options: AddOptions,
  endpoint: ManifestInput['endpoint'],
): Manifest {
  const { include, exclude, capability } = options;
  const parsed = manifestSchema.safeParse({
    agent_id: name,
    endpoint,
    ...(capability && { capabilities: capability.map((each) => ({ name: each })) }),
    ...((include || exclude) && {
      tools: { ...(include && { include }), ...(exclude && { exclude }) },
    }),
    trust_tier: options.tier ?? 'org',
    ...(options.tag && { tags: options.tag }),
  });
  if (parsed.success) return parsed.data;
  const isName = parsed.error.issues[0]?.path[0] === 'agent_id';
  throw unfit(name, parsed.error, isName ? `name it "${toAgentId(name)}"` : 'correct this option');
}

function unfit(name: string, cause: z.ZodError, fix: string): FabricError {
  const problems = cause.issues.map(({ path, message }) => ({ path, message }));
  const [first] = problems;
  const problem = `${first?.path.join('.')}: ${first?.message}`;
  return failure('manifest', { name, problem, problems, fix }, { cause });
}

const EMPTY_WORDS = new Set(['www', 'api', 'mcp', 'app', 'server']);

/** `https://mcp.linear.app/mcp` is `linear`; `http://127.0.0.1:9000/mcp` is `local-9000`. */
export function nameOfUrl({ hostname, port }: URL): string {
  const isAddress = /^[\d.]+$|^\[|^localhost$/.test(hostname);
  if (isAddress) return toAgentId(`local-${port || '80'}`);
  const labels = hostname.split('.').slice(0, hostname.includes('.') ? -1 : undefined);
  const [name = hostname] = labels.filter((label) => !EMPTY_WORDS.has(label)).slice(-1);
  return toAgentId(name);
}

// The manifest of an agent made for editors, from the table of those that are known by name.

export function toEditorManifest(
  preset: string,
  name: string | undefined,
  options: AddOptions,
  place: ServerPlace,
): { readonly manifest: Manifest; readonly login: string } {
  if (options.header !== undefined) throw toUsageError('--header goes with a URL');
  if (options.protocol !== undefined) throw toUsageError('--acp says itself what the agent speaks');
  const { command, args, keys, login } = findPreset(preset);
  const inherited = keys.length > 0 && { inherit_env: [...keys] };
  const settings = { ...inherited, ...ownFolder(place) };
  const manifest = toServerManifest(name ?? options.name ?? preset, options, {
    transport: 'stdio',
    protocol: 'agent-client-protocol',
    command,
    args: [...args],
    ...(options.env && { env: options.env }),
    ...(Object.keys(settings).length > 0 && { options: settings }),
  });
  return { manifest, login };
}

function findPreset(name: string): EditorAgentPreset {
  const table: Readonly<Record<string, EditorAgentPreset>> = EDITOR_AGENT_PRESETS;
  const preset = Object.hasOwn(table, name) ? table[name] : undefined;
  if (preset) return preset;
  const known = Object.keys(table);
  const meant = closestWord(name, known);
  const other = `starloom agents add ${name} --protocol agent-client-protocol -- <command>`;
  const fix = meant === undefined ? `write "${other}"` : `write --acp ${meant}`;
  throw failure('unknown_editor_agent', { name, known, fix });
}

/** The manifest of an agent that the gateway starts at `place`: what it exposes, under its own names. */
export function toAgentManifest(agent: AgentFile, place: string, as?: string): Manifest {
  const { name, version, description, mcp } = agent;
  const tools = mcp.expose_tools.filter((tool) => isExposed(mcp, tool));
  if (tools.length === 0) throw failure('nothing_exposed', { name });
  const manifest = manifestSchema.safeParse({
    agent_id: as ?? name,
    version,
    ...(description !== undefined && { description }),
    endpoint: {
      transport: 'stdio',
      command: OWN_COMMAND,
      args: ['agent', 'run', place, '--mcp', 'stdio'],
    },
    capabilities: [...new Set(tools)].map(toCapability),
    trust_tier: 'local',
  });
  if (manifest.success) return manifest.data;
  throw unfit(name, manifest.error, 'rename it in agent.json, or pass --name <id>');
}

/** Over MCP an agent lists `fs:read_file` as `fs.read_file`. */
function toCapability(name: string) {
  const tool = normalName(name);
  return {
    name,
    ...(name === 'ask' && { streaming: true }),
    ...(tool !== name && { tool }),
  };
}
