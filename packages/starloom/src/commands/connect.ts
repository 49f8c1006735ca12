// Puts the gateway into the configuration of an MCP client: shows the change, and makes it with --apply.

import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isObject } from '@starloom/core';
import { Argument, type Command } from 'commander';
import { action, type GlobalOptions, withExamples } from '../command-line.ts';
import { readAddress } from '../gateway-client.ts';
import { failure } from '../reasons.ts';
import { clientFile, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { diffLines, line, paint, paintChange } from '../terminal-text.ts';

type Entry = readonly [path: readonly string[], value: object];

interface ClientRow {
  /** Below the folder of the project, or below the home folder. */
  readonly file: readonly [where: 'project' | 'home', path: string];
  readonly servers: string;
  /** The key is for clients that read no variables. */
  readonly server: (url: string, key: string) => object;
  readonly beside?: Entry;
  readonly next: string;
  readonly hasKey?: true;
}

const EXPORT = 'start the client from a shell that has STARLOOM_KEY';
const PRIVATE = 'the key is in the file in plain text: keep the file private';
const bearer = (value: string) => ({ Authorization: `Bearer ${value}` });
const variable = (name: string) => `\${${name}}`;
const VSCODE_INPUT = {
  type: 'promptString',
  id: 'starloom-key',
  description: 'Starloom key',
  password: true,
};

const CLIENTS: Readonly<Record<string, ClientRow>> = {
  claude: {
    file: ['project', '.mcp.json'],
    servers: 'mcpServers',
    server: (url) => ({ type: 'http', url, headers: bearer(variable('STARLOOM_KEY')) }),
    next: `${EXPORT}; "claude mcp list" shows the connection`,
  },
  cursor: {
    file: ['home', '.cursor/mcp.json'],
    servers: 'mcpServers',
    server: (url) => ({ url, headers: bearer(variable('env:STARLOOM_KEY')) }),
    next: EXPORT,
  },
  vscode: {
    file: ['project', '.vscode/mcp.json'],
    servers: 'servers',
    server: (url) => ({ type: 'http', url, headers: bearer(variable('input:starloom-key')) }),
    beside: [['inputs'], [VSCODE_INPUT]],
    next: 'VS Code asks for the key once; "MCP: List Servers" shows the connection',
  },
  codex: {
    file: ['home', '.codex/config.toml'],
    servers: 'mcp_servers',
    server: (url) => ({ url, bearer_token_env_var: 'STARLOOM_KEY' }),
    next: `${EXPORT}; "/mcp" inside Codex lists the server`,
  },
  zed: {
    file: ['home', '.config/zed/settings.json'],
    servers: 'context_servers',
    server: (url, key) => ({ url, headers: bearer(key) }),
    next: PRIVATE,
    hasKey: true,
  },
  gemini: {
    file: ['home', '.gemini/settings.json'],
    servers: 'mcpServers',
    server: (httpUrl, key) => ({ httpUrl, headers: bearer(key) }),
    next: `${PRIVATE}; "gemini mcp list" shows the connection`,
    hasKey: true,
  },
};

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [
    ['starloom connect cursor', 'show what would change'],
    ['starloom connect cursor --apply', 'change it'],
  ])
    .addArgument(new Argument('<client>').choices(Object.keys(CLIENTS)))
    .option('--apply', 'make the change; the file is backed up first')
    .action(action(terminal, () => connect));
}

const DEFAULT_URL = 'http://127.0.0.1:7420';

async function connect(
  terminal: Terminal,
  client: string,
  options: GlobalOptions & { readonly apply?: true },
): Promise<void> {
  const row = CLIENTS[client];
  if (!row) return;
  const { env, cwd } = terminal;
  const { url: known = DEFAULT_URL } = await readAddress(env);
  const key = env.STARLOOM_KEY ?? (await clientFile.read(stateFolder(env)))?.key ?? '<key>';
  const url = new URL('/mcp', known).href;
  const [where, path] = row.file;
  const file = join(where === 'home' ? env.HOME || homedir() : cwd, path);
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const server: Entry = [[row.servers, 'starloom'], row.server(url, key)];
  const after = withEntries(file, before, row.beside ? [row.beside, server] : [server]);
  const hidden = (text: string) => (row.hasKey ? text.replaceAll(key, '<key>') : text);
  const isSame = before === after;
  if (options.apply && !isSame) {
    const backup = await apply(file, before, after, row.hasKey === true);
    if (options.json) return terminal.json({ file, changed: true, backup, next: row.next });
    terminal.print(line`changed ${file}${backup === undefined ? '' : ` (before: ${backup})`}`);
    return terminal.tell(`  next: ${row.next}`);
  }
  const shown = diff(hidden(before ?? ''), hidden(after));
  if (options.json) return terminal.json({ file, changed: false, diff: shown });
  if (isSame) return terminal.print(line`${file} has the gateway already`);
  terminal.print(paint('bold', line`${file}`));
  for (const text of shown) terminal.print(paintChange(text));
  const command = `starloom connect ${client} --apply`;
  terminal.tell(`nothing is changed yet; make the change with "${command}"`);
}

/** The text of the file with the entries in it; everything else stays. */
export function withEntries(
  file: string,
  before: string | undefined,
  entries: readonly Entry[],
): string {
  if (file.endsWith('.toml')) {
    const add = (text: string, [path, value]: Entry) => withTable(text, path.join('.'), value);
    return entries.reduce(add, before ?? '');
  }
  const root = parseObject(before?.trim() ? before : '{}');
  if (!root) {
    const snippet = JSON.stringify(putAll({}, entries));
    throw failure('config/client_file', { file, snippet });
  }
  const whole = putAll(structuredClone(root), entries);
  const isSame = before !== undefined && JSON.stringify(whole) === JSON.stringify(root);
  return isSame ? before : `${JSON.stringify(whole, null, 2)}\n`;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function putAll(root: Record<string, unknown>, entries: readonly Entry[]) {
  for (const [path, value] of entries) put(root, path, value);
  return root;
}

function put(root: Record<string, unknown>, path: readonly string[], value: object): void {
  const [name = '', ...rest] = path;
  const known = root[name];
  if (rest.length > 0) {
    const inner = isObject(known) ? (known as Record<string, unknown>) : {};
    root[name] = inner;
    put(inner, rest, value);
  } else if (Array.isArray(value) && Array.isArray(known)) {
    const ids = new Set(value.map(({ id }) => id));
    root[name] = [...known.filter((one) => !isObject(one) || !ids.has(one.id)), ...value];
  } else {
    root[name] = value;
  }
}

/** The table takes the place of one of the same name, or comes last. */
function withTable(text: string, name: string, value: object): string {
  const lines = Object.entries(value).map(([key, one]) => `${key} = ${JSON.stringify(one)}`);
  const table = [`[${name}]`, ...lines].join('\n');
  const all = text.split('\n');
  const start = all.findIndex((one) => one.trim() === `[${name}]`);
  if (start < 0) return `${text.trimEnd()}${text.trim() === '' ? '' : '\n\n'}${table}\n`;
  const next = all.findIndex((one, index) => index > start && one.trimStart().startsWith('['));
  const end = next < 0 ? all.length : next;
  const rest = all.slice(end);
  return [...all.slice(0, start), table, ...(rest.length > 0 ? ['', ...rest] : [''])].join('\n');
}

async function apply(
  file: string,
  before: string | undefined,
  after: string,
  isPrivate: boolean,
): Promise<string | undefined> {
  await mkdir(dirname(file), { recursive: true });
  const backup = `${file}.before-starloom-${Date.now()}`;
  if (before !== undefined) await copyFile(file, backup);
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, after, { mode: isPrivate ? 0o600 : 0o644 });
  await rename(draft, file);
  return before === undefined ? undefined : backup;
}

const CONTEXT = 2;

function diff(before: string, after: string): readonly string[] {
  const old = before === '' ? [] : before.trimEnd().split('\n');
  const now = after.trimEnd().split('\n');
  const { head, tail, changes } = diffLines(old, now);
  const around = (from: number, to: number) => now.slice(from, to).map((text) => `  ${text}`);
  const end = now.length - tail;
  return [...around(Math.max(0, head - CONTEXT), head), ...changes, ...around(end, end + CONTEXT)];
}
