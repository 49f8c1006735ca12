// Other people's MCP servers as agents of a gateway. Their manifests name no capabilities: the
// gateway discovers what they offer.

import type { ManifestInput } from '@starloom/core';
import { freePort } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { fileOfPackage } from '../support/installed-package.ts';

const EVERYTHING = fileOfPackage('@modelcontextprotocol/server-everything', 'dist/index.js');
const FILESYSTEM = fileOfPackage('@modelcontextprotocol/server-filesystem', 'dist/index.js');
const MEMORY = fileOfPackage('@modelcontextprotocol/server-memory', 'dist/index.js');

export function everythingAgent(agent_id: string): ManifestInput {
  return nodeAgent(agent_id, [EVERYTHING, 'stdio']);
}

export function everythingHttpAgent(agent_id: string, uri: string): ManifestInput {
  return { agent_id, trust_tier: 'local', endpoint: { transport: 'http', uri } };
}

export function filesystemAgent(agent_id: string, folder: string): ManifestInput {
  return nodeAgent(agent_id, [FILESYSTEM, folder]);
}

export function memoryAgent(agent_id: string, file: string): ManifestInput {
  return nodeAgent(agent_id, [MEMORY], { MEMORY_FILE_PATH: file });
}

/** A server from the Python package index; `python` is an interpreter that has it. */
export function pythonAgent(
  agent_id: string,
  python: string,
  server: 'mcp_server_git' | 'mcp_server_time' | 'mcp_server_fetch',
  ...args: readonly string[]
): ManifestInput {
  return stdioAgent(agent_id, python, ['-m', server, ...args]);
}

/** A script of ours that serves MCP on standard input and output. */
export function nodeAgent(
  agent_id: string,
  args: readonly string[],
  env: Record<string, string> = {},
): ManifestInput {
  return stdioAgent(agent_id, process.execPath, args, env);
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
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): ManifestInput {
  const transport = 'stdio';
  return { agent_id, trust_tier: 'local', endpoint: { transport, command, args: [...args], env } };
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
