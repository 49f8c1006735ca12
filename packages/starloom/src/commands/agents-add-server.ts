// The manifest of a foreign server: a program, or an address. It names no
// capabilities: the gateway asks the server what it offers.

import { resolve } from 'node:path';
import { FabricError, type Manifest, type ManifestInput, manifestSchema } from '@starloom/core';
import { toUsageError } from '../report-error.ts';
import { toAgentId } from '../to-agent-id.ts';
import { type AgentZeroAddress, agentZeroAddress } from './agent-zero-address.ts';
import type { AddOptions } from './agents.ts';

export interface ServerPlace {
  /** Where the command was typed. */
  readonly cwd: string;
  /** Where the gateway runs it. */
  readonly folder: string;
}

/** Transports by the protocols that do not speak over standard input and output as MCP does. */
const PROCESS_PROTOCOLS = ['local-process', 'process'];

export function toCommandManifest(
  name: string,
  [command = '', ...args]: readonly string[],
  options: AddOptions,
  { cwd, folder }: ServerPlace,
): Manifest {
  if (command.startsWith('-')) throw nameMissing([name, command, ...args]);
  const transport = PROCESS_PROTOCOLS.includes(options.protocol ?? '') ? 'process' : 'stdio';
  if (options.header !== undefined) throw toUsageError('--header goes with a URL');
  const isElsewhere = resolve(cwd) !== resolve(folder);
  return toServerManifest(name, options, {
    transport,
    ...(options.protocol !== undefined && { protocol: options.protocol }),
    command,
    ...(args.length > 0 && { args }),
    ...(options.env && { env: options.env }),
    ...(isElsewhere && { options: { cwd: resolve(cwd) } }),
  });
}

export function toUrlManifest(url: string, options: AddOptions): Manifest {
  if (!URL.canParse(url)) throw toUsageError(`"${url}" is no URL`);
  if (options.env !== undefined) throw toUsageError('--env goes with a command');
  const name = options.name ?? nameOfUrl(new URL(url));
  const zero = options.protocol === 'mcp' ? undefined : agentZeroAddress(new URL(url));
  if (zero) return toServerManifest(name, options, toAgentZero(zero, options));
  return toServerManifest(name, options, {
    transport: 'http',
    ...(options.protocol !== undefined && { protocol: options.protocol }),
    uri: url,
    ...(options.header && { headers: options.header }),
  });
}

/** One token for all its interfaces, where secrets belong. */
function toAgentZero(
  { uri, token, project }: AgentZeroAddress,
  { header, protocol = 'agent-zero' }: AddOptions,
): ManifestInput['endpoint'] {
  const isGiven = Object.keys(header ?? {}).some((name) => /^x-api-key$/i.test(name));
  return {
    transport: 'http',
    protocol,
    uri,
    headers: { ...(!isGiven && { 'X-API-KEY': token }), ...header },
    ...(project !== undefined && { options: { project } }),
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
  const problems = parsed.error.issues.map(({ path, message }) => ({ path, message }));
  const [first] = problems;
  const fix =
    first?.path[0] === 'agent_id' ? `name it "${toAgentId(name)}"` : 'correct this option';
  const what = `${first?.path.join('.')}: ${first?.message}`;
  throw new FabricError('BAD_INPUT', `"${name}" cannot be added: ${what}`, {
    details: { reason: 'manifest', problems, fix },
    cause: parsed.error,
  });
}

/** Words of a host that say nothing about the server. */
const EMPTY_WORDS = new Set(['www', 'api', 'mcp', 'app', 'server']);

/** `https://mcp.linear.app/mcp` is `linear`; `http://127.0.0.1:9000/mcp` is `local-9000`. */
export function nameOfUrl({ hostname, port }: URL): string {
  const isAddress = /^[\d.]+$|^\[|^localhost$/.test(hostname);
  if (isAddress) return toAgentId(`local-${port || '80'}`);
  const labels = hostname.split('.').slice(0, hostname.includes('.') ? -1 : undefined);
  const [name = hostname] = labels.filter((label) => !EMPTY_WORDS.has(label)).slice(-1);
  return toAgentId(name);
}

function nameMissing(words: readonly string[]): FabricError {
  const fix = `write "starloom agents add <name> -- ${words.join(' ')}"`;
  return new FabricError('BAD_INPUT', 'The name of the agent is missing before "--"', {
    details: { reason: 'usage', fix },
  });
}
