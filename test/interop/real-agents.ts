// Other people's MCP servers as agents of a gateway.

import type { ManifestInput } from '@starloom/core';
import { freePort } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { fileOfPackage } from '../support/installed-package.ts';

const EVERYTHING = fileOfPackage('@modelcontextprotocol/server-everything', 'dist/index.js');
const FILESYSTEM = fileOfPackage('@modelcontextprotocol/server-filesystem', 'dist/index.js');
const MEMORY = fileOfPackage('@modelcontextprotocol/server-memory', 'dist/index.js');

const EVERYTHING_TOOLS = [
  'echo',
  'get-sum',
  'get-structured-content',
  'get-tiny-image',
  'trigger-long-running-operation',
];

export function everythingAgent(agent_id: string): ManifestInput {
  return stdioAgent(agent_id, [EVERYTHING, 'stdio'], EVERYTHING_TOOLS);
}

export function everythingHttpAgent(agent_id: string, uri: string): ManifestInput {
  return { ...named(agent_id, EVERYTHING_TOOLS), endpoint: { transport: 'http', uri } };
}

export function filesystemAgent(agent_id: string, folder: string): ManifestInput {
  const tools = ['read_text_file', 'write_file', 'list_directory'];
  return stdioAgent(agent_id, [FILESYSTEM, folder], tools);
}

export function memoryAgent(agent_id: string, file: string): ManifestInput {
  const tools = ['create_entities', 'search_nodes', 'read_graph'];
  return stdioAgent(agent_id, [MEMORY], tools, { MEMORY_FILE_PATH: file });
}

/** The one of them that also serves over HTTP, with sessions. */
export async function startEverythingHttp(): Promise<AsyncDisposable & { readonly uri: string }> {
  const port = await freePort();
  const said: string[] = [];
  const child = await spawnProcess({
    command: process.execPath,
    args: [EVERYTHING, 'streamableHttp'],
    env: childEnvironment({ extra: { PORT: String(port) } }),
    onStderrLine: (line) => said.push(line),
  });
  child.stdout.resume();
  const uri = `http://127.0.0.1:${port}/mcp`;
  while (!(await answers(uri))) {
    const exit = await Promise.race([child.exited, later()]);
    if (exit) throw new Error(`server-everything ended: ${said.join('\n')}`);
  }
  return { uri, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

function stdioAgent(
  agent_id: string,
  args: string[],
  tools: readonly string[],
  env: Record<string, string> = {},
): ManifestInput {
  const endpoint = { transport: 'stdio', command: process.execPath, args, env } as const;
  return { ...named(agent_id, tools), endpoint };
}

function named(agent_id: string, tools: readonly string[]) {
  const capabilities = tools.map((name) => ({ name }));
  return { agent_id, trust_tier: 'local', capabilities } as const;
}

async function answers(uri: string): Promise<boolean> {
  return fetch(uri).then(
    () => true,
    () => false,
  );
}

function later(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, 50, undefined));
}
