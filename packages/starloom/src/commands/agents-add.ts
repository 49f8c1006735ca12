// Puts an agent of one's own behind the gateway: one entry in the file of agents. A gateway that
// runs sees it at once.

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { FabricError, findCapability, type Manifest, silentLog } from '@starloom/core';
import { loadGatewayConfig } from '@starloom/gateway/config';
import { openYamlRegistry } from '@starloom/registry';
import { loadAgentConfig } from '@starloom/runtime';
import type { Terminal } from '../terminal.ts';
import { toAgentManifest } from './agents-add-manifest.ts';
import type { AddOptions } from './fabric.ts';

export async function addAgent(
  terminal: Terminal,
  path: string,
  options: AddOptions,
): Promise<void> {
  const { env, cwd } = terminal;
  const { agent } = await loadAgentConfig(path, env);
  const { file, folder } = await findAgentsFile(terminal, options);
  const manifest = toAgentManifest(agent, {
    place: placeIn(folder, resolve(cwd, path)),
    as: options.as,
  });
  const isNew = !existsSync(file);
  if (isNew) await createFile(file);
  const written = await register(file, manifest);
  const shown = relative(cwd, file);
  if (options.json) terminal.print(JSON.stringify({ agent: written, file: shown }));
  else terminal.tell(nextSteps(written, shown, isNew));
}

async function findAgentsFile({ env, cwd }: Terminal, { config }: AddOptions) {
  const where = { path: config, env, cwd, resolveSecrets: false };
  const { value, folder } = await loadGatewayConfig(where);
  const { registry } = value;
  if (registry.kind === 'yaml') return { file: resolve(folder, registry.path), folder };
  throw new FabricError('BAD_INPUT', 'The agents of this gateway are not in a file', {
    details: { reason: 'no_file', kind: registry.kind, fix: 'register it in that registry' },
  });
}

/** So that the file may move together with the agent. */
function placeIn(folder: string, path: string): string {
  const place = relative(folder, path).replaceAll(sep, '/');
  return isAbsolute(place) || place.startsWith('..') ? place : `./${place}`;
}

async function createFile(file: string): Promise<void> {
  try {
    await writeFile(file, '[]\n', { flag: 'wx' });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new FabricError('BAD_INPUT', `Cannot write ${file} (${code})`, {
      details: { reason: 'not_writable', file, fix: 'go to a folder that you may write to' },
      cause,
    });
  }
}

/** What was added before is brought up to date; what people wrote beside it stays. */
async function register(path: string, manifest: Manifest): Promise<Manifest> {
  const registry = await openYamlRegistry({ path, log: silentLog });
  try {
    const before = registry.get(manifest.agent_id)?.manifest;
    if (before && !isSameAgent(before, manifest)) throw idIsTaken(manifest.agent_id, path);
    const written = before ? updated(before, manifest) : manifest;
    await registry.register(written);
    return written;
  } finally {
    await registry.close();
  }
}

function updated(before: Manifest, { version, description, capabilities }: Manifest): Manifest {
  return {
    ...before,
    version,
    ...(description !== undefined && { description }),
    capabilities: (capabilities ?? []).map((capability) => ({
      ...capability,
      ...findCapability(before, capability.name),
    })),
  };
}

function isSameAgent(one: Manifest, other: Manifest): boolean {
  const [first, second] = [one.endpoint, other.endpoint];
  return first.command === second.command && String(first.args) === String(second.args);
}

function nextSteps({ agent_id, capabilities }: Manifest, file: string, isNew: boolean): string {
  const names = (capabilities ?? []).map(({ name }) => name);
  return [
    `${agent_id} is in ${file}: ${names.join(', ')}`,
    '',
    'Try next',
    ...(isNew ? ['  starloom up'] : []),
    `  starloom agents describe ${agent_id}`,
    ...(names.includes('ask') ? [`  starloom call ${agent_id} ask "…" --stream`] : []),
  ].join('\n');
}

function idIsTaken(agentId: string, file: string): FabricError {
  return new FabricError('BAD_INPUT', `Another agent is called "${agentId}" in ${file}`, {
    details: { reason: 'id_taken', agent_id: agentId, fix: 'give this one a name with --as <id>' },
  });
}
