import type { Log } from '@starloom/core';
import type { Agent } from '@starloom/runtime';
import { McpFace, openMcpHttp, serveMcpStdio } from '@starloom/runtime/mcp';
import { untilStopped } from '../signals.ts';
import type { Terminal } from '../terminal.ts';
import type { RunOptions } from './agent.ts';
import { createCommandLog, openCommandAgent } from './agent-open.ts';

type Options = RunOptions & { readonly mcp: 'stdio' | 'http' };

/** Serves until it is told to stop, or its one client has gone. Nobody is asked for approval. */
export async function runAgent(
  terminal: Terminal,
  path: string | undefined,
  { mcp, port = 0, json = false }: Options,
): Promise<void> {
  const stopped = untilStopped();
  await using agent = await openCommandAgent(terminal, { path, json });
  const face = await openFace(agent, createCommandLog(terminal, json));
  try {
    if (mcp === 'stdio') await serveStdio(face, stopped);
    else await serveHttp(face, port, terminal, json, stopped);
  } finally {
    face.close();
  }
}

async function openFace(agent: Agent, log: Log): Promise<McpFace> {
  const { guard, config } = agent;
  const { mcp } = config.agent;
  return await McpFace.open({ agent, guard, mcp, folder: config.folder, log });
}

async function serveStdio(face: McpFace, stopped: Promise<void>): Promise<void> {
  const served = serveMcpStdio(face, process.stdin, process.stdout);
  await Promise.race([served.closed, stopped]);
  await served.close();
  process.stdin.destroy();
}

async function serveHttp(
  face: McpFace,
  port: number,
  terminal: Terminal,
  json: boolean,
  stopped: Promise<void>,
): Promise<void> {
  const served = await openMcpHttp(face, { port });
  try {
    const { url } = served;
    if (json) terminal.print(JSON.stringify({ event: 'ready', url, pid: process.pid }));
    else terminal.tell(`${face.agent.name} serves MCP at ${url}; Ctrl-C stops it`);
    await stopped;
    if (!json) terminal.tell('stopping: finishing what is in flight');
  } finally {
    await served.close();
  }
}
