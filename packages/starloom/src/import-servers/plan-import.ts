import { basename, dirname, extname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  configError,
  type KeyPath,
  type Problem,
  readSource,
  type Source,
  toKey,
} from '@starloom/config';
import { isObject, looksLike, type Manifest, toFields } from '@starloom/core';
import { failure } from '../reasons.ts';
import { nearestOr } from '../report-error.ts';
import { toAgentId } from '../to-agent-id.ts';
import { type ConvertContext, ServerConversion } from './to-server-manifest.ts';

export interface PlannedServer {
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
  const servers = chooseServers(client, options.only).map((server): PlannedServer => {
    const { name } = server;
    const agent_id = ids.get(name) ?? name;
    const converted = new ServerConversion(server, agent_id, context).run();
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

function chooseServers({ servers, file }: ClientFile, only: readonly string[] | undefined) {
  if (only === undefined) return servers;
  const names = servers.map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown === undefined) return servers.filter(({ name }) => only.includes(name));
  const fix = nearestOr(`it has: ${names.join(', ')}`, unknown, names);
  throw failure('unknown_server', { server: unknown, file, fix });
}

// The MCP servers in a configuration file of another client, whatever its shape.

export interface ClientServer {
  readonly name: string;
  readonly path: KeyPath;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ClientFile {
  readonly file: string;
  readonly servers: readonly ClientServer[];
  readonly warnings: readonly Problem[];
  /** The folder of the project that the file belongs to, if it belongs to one. */
  readonly projectFolder: string | undefined;
  readonly placeOf: (path: KeyPath) => Pick<Problem, 'file' | 'line' | 'column'>;
}

const SHAPES: readonly { readonly path: readonly string[]; readonly of: string }[] = [
  { path: ['mcpServers'], of: 'Claude, Cursor, Windsurf, Gemini, .mcp.json' },
  { path: ['servers'], of: 'VS Code, mcp.json' },
  { path: ['mcp', 'servers'], of: 'VS Code, settings.json' },
  { path: ['mcp_servers'], of: 'Codex, config.toml' },
  { path: ['context_servers'], of: 'Zed, settings.json' },
];

/** Other keys of files that hold nothing but servers. */
const BESIDE = new Set(['$schema', 'inputs']);
const SERVERS_ONLY = /^\.?mcp\.json$/;

export async function readClientFile(file: string, cwd: string): Promise<ClientFile> {
  const format = extname(file).toLowerCase() === '.toml' ? 'toml' : 'jsonc';
  const source = await readSource(file, { cwd, format, missingFix: 'name a file that exists' });
  const placeOf = (path: KeyPath) => ({ file, ...source.positions.get(toKey(path))?.key });
  const shape = SHAPES.find(({ path }) => isObject(at(source, path)));
  if (shape === undefined) throw configError([noServers(file)]);
  const entries = Object.entries(at(source, shape.path) as Record<string, unknown>);
  const notMaps = entries.filter(([, fields]) => !isObject(fields));
  if (notMaps.length > 0) {
    const fix = 'write it as a map with "command" or "url"';
    const paths = notMaps.map(([name]) => [...shape.path, name]);
    throw configError(
      paths.map((path) => {
        return { ...placeOf(path), key: toKey(path), message: 'is no server', fix };
      }),
    );
  }
  return {
    file,
    placeOf,
    projectFolder: projectFolderOf(resolve(cwd, file)),
    warnings: SERVERS_ONLY.test(basename(file)) ? unknownBeside(source, shape.path, placeOf) : [],
    servers: entries.map(([name, fields]) => ({
      name,
      path: [...shape.path, name],
      fields: fields as Record<string, unknown>,
    })),
  };
}

function unknownBeside(
  { value }: Source,
  [own = '']: readonly string[],
  placeOf: ClientFile['placeOf'],
): Problem[] {
  return Object.keys(toFields(value))
    .filter((key) => key !== own && !BESIDE.has(key))
    .map((key) => {
      const fix = 'remove it, or ignore this';
      return { ...placeOf([key]), key, message: 'unknown field, left out', fix };
    });
}

/** `.mcp.json` is in its project, `.vscode/mcp.json` one folder below; others are the user's. */
function projectFolderOf(path: string): string | undefined {
  const folder = dirname(path);
  if (basename(path) === '.mcp.json') return folder;
  const isOfProject = ['.vscode', '.cursor', '.zed', '.roo'].includes(basename(folder));
  return isOfProject ? dirname(folder) : undefined;
}

function noServers(file: string): Problem {
  const known = SHAPES.map(({ path, of }) => `${path.join('.')} (${of})`).join(', ');
  const message = `holds no MCP servers; expected one of ${known}`;
  return { file, key: '', message, fix: 'name the configuration file of an MCP client' };
}

function at({ value }: Source, path: readonly string[]): unknown {
  return path.reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), value);
}
