import type { Authenticator } from '@starloom/identity';
import type { Agent, Workspace } from '@starloom/runtime';
import { AgentMcpFace, McpApprovals, openMcpHttp, serveMcpStdio } from '@starloom/runtime/mcp';
import { untilStopped } from '../command-line.ts';
import type { RegisteredAgent } from '../registered-agent.ts';
import type { Terminal } from '../terminal.ts';
import type { RunOptions } from './agent.ts';
import { agentFolder, createCommandLog, openCommandAgent } from './agent-open.ts';

type Options = RunOptions & { readonly mcp: 'stdio' | 'http' };

/** Serves until a signal stops it, or its one client disconnects. No user is asked for approval. */
export async function runAgent(terminal: Terminal, path: string | undefined, options: Options) {
  const { mcp, json = false } = options;
  const stopped = untilStopped();
  const approvals = new McpApprovals();
  const { approve } = approvals;
  await using agent = await openCommandAgent(terminal, { path, json, approve });
  const face = await AgentMcpFace.open({
    agent,
    approvals: agent.config.toml.mcp.approvals === 'caller' ? approvals : undefined,
    log: createCommandLog(terminal, json),
  });
  try {
    if (mcp === 'stdio') await serveStdio(face, stopped);
    else {
      const open = (place: HttpPlace) => openMcpHttp(face, place);
      await serveHttp(terminal, agent, options, { what: 'MCP', open, stopped });
    }
  } finally {
    face.close();
  }
}

async function serveStdio(face: AgentMcpFace, stopped: Promise<void>): Promise<void> {
  const served = serveMcpStdio(face, process.stdin, process.stdout);
  await Promise.race([served.closed, stopped]);
  await served.close();
  process.stdin.destroy();
}

/** Serves other agents over A2A until a signal stops it. Approval is asked for in the task. */
export async function runForAgents(
  terminal: Terminal,
  path: string | undefined,
  options: RunOptions,
): Promise<void> {
  const { anonymous, json = false } = options;
  const { openA2aServer, TaskApprovals } = await import('@starloom/runtime/a2a');
  const stopped = untilStopped();
  const approvals = new TaskApprovals();
  const { approve, askCaller } = approvals;
  await using agent = await openCommandAgent(terminal, { path, json, approve, askCaller });
  const folder = agentFolder(terminal.env, agent);
  const log = createCommandLog(terminal, json);
  const open = (place: HttpPlace) =>
    openA2aServer({ ...place, agent, approvals, needsKey: !anonymous, folder, log });
  await serveHttp(terminal, agent, options, { what: 'A2A', open, stopped });
}

interface HttpPlace {
  readonly host: string;
  readonly port: number;
  readonly authenticator: Authenticator;
}

interface HttpService {
  readonly what: 'MCP' | 'A2A';
  open(place: HttpPlace): Promise<{ url: string; cardKey?: unknown; close(): Promise<void> }>;
  readonly stopped: Promise<void>;
}

/** Opens the key of the agent, serves it, registers it where that is asked for, and waits for the end. */
async function serveHttp(
  terminal: Terminal,
  agent: Agent,
  options: RunOptions,
  { what, open, stopped }: HttpService,
): Promise<void> {
  const { port = 0, host = '127.0.0.1', key: reference, anonymous, json = false } = options;
  const { openAgentKey } = await import('./agent-keys.ts');
  const folder = agentFolder(terminal.env, agent);
  const key = await openAgentKey(terminal, folder, { host, key: reference, anonymous });
  const served = await open({ host, port, authenticator: key.authenticator });
  let registered: RegisteredAgent | undefined;
  try {
    const { url, cardKey } = served;
    const clientFile = await key.save(url);
    if (options.register !== undefined) {
      const { registerAgent } = await import('../registered-agent.ts');
      const { register, advertise, node, tier } = options;
      const place = { url: advertise ?? url, header: key.header, node, tier };
      registered = await registerAgent(terminal, register, agent.config.agent, place);
    }
    const ready = { event: 'ready', url, pid: process.pid, client_file: clientFile };
    if (json) terminal.json({ ...ready, card_key: cardKey });
    else {
      const notes = [
        ...(anonymous ? ['not needed on this machine'] : []),
        ...(clientFile === undefined ? [] : [`also in ${clientFile}`]),
      ];
      terminal.tell(`${agent.name} serves ${what} at ${url}`);
      terminal.tell(`  key   ${key.shown}${notes.length > 0 ? `   (${notes.join('; ')})` : ''}`);
      terminal.tell('Ctrl-C stops it.');
    }
    await stopped;
    if (!json) terminal.tell('stopping: finishing what is in flight');
    await registered?.drain();
  } finally {
    await registered?.leave();
    await served.close();
  }
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
  const openFor = (workspace?: Workspace) =>
    openCommandAgent(terminal, { path, json, approve, workspace });
  await using agent = await openFor();
  const log = createCommandLog(terminal, json);
  const face = new EditorFace({ agent, approvals, openFor, log });
  const served = serveEditor(face, process.stdin, process.stdout);
  await Promise.race([served.closed, stopped]);
  served.close();
  await served.closed;
  await face.close();
  process.stdin.destroy();
}
