import type { Log } from '@starloom/core';
import type { Agent } from '@starloom/runtime';
import { AgentMcpFace, openMcpHttp, serveMcpStdio } from '@starloom/runtime/mcp';
import { toSafeJson } from '../plain-text.ts';
import { untilStopped } from '../signals.ts';
import type { Terminal } from '../terminal.ts';
import type { RunOptions } from './agent.ts';
import { agentFolder, createCommandLog, openCommandAgent } from './agent-open.ts';

type Options = RunOptions & { readonly mcp: 'stdio' | 'http' };

interface Served {
  readonly name: string;
  readonly url: string;
  /** Of the key. */
  readonly shown: string;
  readonly clientFile: string | undefined;
  readonly anonymous: true | undefined;
}

/** Serves until a signal stops it, or its one client disconnects. No user is asked for approval. */
export async function runAgent(
  terminal: Terminal,
  path: string | undefined,
  options: Options,
): Promise<void> {
  const { mcp, json = false } = options;
  const stopped = untilStopped();
  await using agent = await openCommandAgent(terminal, { path, json });
  const face = await openFace(agent, createCommandLog(terminal, json));
  try {
    if (mcp === 'stdio') await serveStdio(face, stopped);
    else await serveHttp(face, agentFolder(terminal.env, agent), options, terminal, stopped);
  } finally {
    face.close();
  }
}

async function openFace(agent: Agent, log: Log): Promise<AgentMcpFace> {
  const { guard, config } = agent;
  const { mcp } = config.agent;
  return await AgentMcpFace.open({ agent, guard, mcp, folder: config.folder, log });
}

async function serveStdio(face: AgentMcpFace, stopped: Promise<void>): Promise<void> {
  const served = serveMcpStdio(face, process.stdin, process.stdout);
  await Promise.race([served.closed, stopped]);
  await served.close();
  process.stdin.destroy();
}

async function serveHttp(
  face: AgentMcpFace,
  folder: string,
  { port = 0, host = '127.0.0.1', key: reference, anonymous, json = false }: Options,
  terminal: Terminal,
  stopped: Promise<void>,
): Promise<void> {
  const options = { host, key: reference, anonymous };
  const { openAgentKey } = await import('./agent-keys.ts');
  const { authenticator, shown, save } = await openAgentKey(terminal, folder, options);
  const served = await openMcpHttp(face, { host, port, authenticator });
  try {
    const { url } = served;
    const clientFile = await save(url);
    const ready = { event: 'ready', url, pid: process.pid, client_file: clientFile };
    if (json) terminal.print(toSafeJson(ready));
    else terminal.tell(describe({ name: face.agent.name, url, shown, clientFile, anonymous }));
    await stopped;
    if (!json) terminal.tell('stopping: finishing what is in flight');
  } finally {
    await served.close();
  }
}

function describe({ name, url, shown, clientFile, anonymous }: Served): string {
  const notes = [
    ...(anonymous ? ['not needed on this machine'] : []),
    ...(clientFile === undefined ? [] : [`also in ${clientFile}`]),
  ];
  return [
    `${name} serves MCP at ${url}`,
    `  key   ${shown}${notes.length > 0 ? `   (${notes.join('; ')})` : ''}`,
    'Ctrl-C stops it.',
  ].join('\n');
}

/** Serves the editor that started this process, until it leaves. Approval is asked for in the editor. */
export async function runForEditor(
  terminal: Terminal,
  path: string | undefined,
  { json = false }: RunOptions,
): Promise<void> {
  const { EditorApprovals, EditorFace, serveEditor } = await import('@starloom/runtime/editor');
  const stopped = untilStopped();
  const approvals = new EditorApprovals();
  const { approve } = approvals;
  await using agent = await openCommandAgent(terminal, { path, json, approve });
  const face = new EditorFace({ agent, approvals, log: createCommandLog(terminal, json) });
  const served = serveEditor(face, process.stdin, process.stdout);
  await Promise.race([served.closed, stopped]);
  served.close();
  process.stdin.destroy();
}
