// The MCP servers in a configuration file of another client, whatever its shape.

import { basename, dirname, extname, resolve } from 'node:path';
import {
  configError,
  type KeyPath,
  type Problem,
  readSource,
  type Source,
  toKey,
} from '@starloom/config';
import { isObject, toFields } from '@starloom/core';

export interface ClientServer {
  readonly name: string;
  /** Where its entry stands in the file. */
  readonly path: KeyPath;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ClientFile {
  /** As the person named it. */
  readonly file: string;
  readonly servers: readonly ClientServer[];
  readonly warnings: readonly Problem[];
  /** The folder of the project that the file belongs to, if it belongs to one. */
  readonly projectFolder: string | undefined;
  /** The place of an entry, for problems. */
  readonly placeOf: (path: KeyPath) => Pick<Problem, 'file' | 'line' | 'column'>;
}

/** Keys under which clients keep their servers. */
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
    throw configError(
      notMaps.map(([name]) => {
        const path = [...shape.path, name];
        const fix = 'write it as a map with "command" or "url"';
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
  return ['.vscode', '.cursor', '.zed', '.roo'].includes(basename(folder))
    ? dirname(folder)
    : undefined;
}

function noServers(file: string): Problem {
  const known = SHAPES.map(({ path, of }) => `${path.join('.')} (${of})`).join(', ');
  return {
    file,
    key: '',
    message: `holds no MCP servers; expected one of ${known}`,
    fix: 'name the configuration file of an MCP client',
  };
}

function at({ value }: Source, path: readonly string[]): unknown {
  return path.reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), value);
}
