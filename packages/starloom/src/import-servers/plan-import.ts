import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '@starloom/config';
import { closestWord, FabricError, looksLike, type Manifest } from '@starloom/core';
import { toAgentId } from '../to-agent-id.ts';
import type { ClientFile, ClientServer } from './client-servers.ts';
import { type ConvertContext, toServerManifest } from './to-server-manifest.ts';

export interface PlannedServer {
  /** Its name in the client. */
  readonly name: string;
  readonly agent_id: string;
  /** `taken`: another agent has the name, and only --force replaces it. */
  readonly action: 'add' | 'unchanged' | 'replace' | 'taken' | 'off';
  readonly manifest: Manifest | undefined;
}

export interface ImportPlan {
  readonly servers: readonly PlannedServer[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly secrets: ReadonlyMap<string, string>;
}

interface PlanOptions extends Omit<ConvertContext, 'client' | 'secretFile'> {
  readonly existing: readonly Manifest[];
  readonly only: readonly string[] | undefined;
  readonly force: boolean;
  /** Where files with secrets go. */
  readonly secretsFolder: string;
}

/** What an import would do; nothing is written. */
export function planImport(client: ClientFile, options: PlanOptions): ImportPlan {
  const { existing, force, secretsFolder } = options;
  const context = {
    ...options,
    client,
    secretFile: (agentId: string, name: string) => join(secretsFolder, agentId, name),
  };
  const ids = toIds(client.servers);
  const secrets = new Map<string, string>();
  const problems: Problem[] = [];
  const warnings: Problem[] = [...client.warnings];
  const servers = chosen(client, options.only).map((server): PlannedServer => {
    const { name } = server;
    const agent_id = ids.get(name) ?? name;
    const converted = toServerManifest(server, agent_id, context);
    problems.push(...converted.problems);
    warnings.push(...converted.warnings);
    const { manifest, isOff } = converted;
    if (isOff) return { name, agent_id, action: 'off', manifest: undefined };
    const before = existing.find((agent) => agent.agent_id === agent_id);
    const action = before === undefined ? 'add' : actionFor(before, manifest, force);
    const like = existing.find((agent) => looksLike(agent.agent_id, agent_id))?.agent_id;
    if (like !== undefined) warnings.push(looksAlike(client.file, name, agent_id, like));
    if (action !== 'unchanged')
      for (const [file, value] of converted.secrets) secrets.set(file, value);
    return { name, agent_id, action, manifest };
  });
  return { servers, problems, warnings, secrets };
}

function looksAlike(file: string, name: string, agentId: string, like: string): Problem {
  const message = `the name "${agentId}" looks like "${like}", which is there already`;
  return { file, key: name, message, fix: 'give one of them another name' };
}

function actionFor(before: Manifest, after: Manifest | undefined, force: boolean) {
  if (isDeepStrictEqual(before.endpoint, after?.endpoint)) return 'unchanged';
  return force ? 'replace' : 'taken';
}

/** Valid ids, each once; those that are valid already stay. */
function toIds(servers: readonly ClientServer[]): Map<string, string> {
  const taken = new Set<string>();
  const ids = new Map<string, string>();
  const isValid = ({ name }: ClientServer) => toAgentId(name) === name;
  for (const server of [...servers.filter(isValid), ...servers.filter((each) => !isValid(each))]) {
    const id = toAgentId(server.name, taken);
    taken.add(id);
    ids.set(server.name, id);
  }
  return ids;
}

function chosen({ servers, file }: ClientFile, only: readonly string[] | undefined) {
  if (only === undefined) return servers;
  const names = servers.map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown === undefined) return servers.filter(({ name }) => only.includes(name));
  const meant = closestWord(unknown, names);
  const fix = meant === undefined ? `it has: ${names.join(', ')}` : `did you mean "${meant}"?`;
  throw new FabricError('BAD_INPUT', `There is no server "${unknown}" in ${file}`, {
    details: { reason: 'unknown_server', fix },
  });
}
