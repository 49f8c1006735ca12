import type { Log } from '@starloom/core';
import type { Agent, Workspace } from '@starloom/runtime';
import { AgentMcpFace, McpApprovals, openMcpHttp, serveMcpStdio } from '@starloom/runtime/mcp';
import { untilStopped } from '../command-line.ts';
import type { RegisteredAgent } from '../registered-agent.ts';
import type { Terminal } from '../terminal.ts';
import type { RunOptions } from './agent.ts';
import { agentFolder, createCommandLog, openCommandAgent } from './agent-open.ts';

type Options = RunOptions & { readonly mcp: 'stdio' | 'http' };

interface Served {
  readonly name: string;
  readonly what: 'MCP' | 'A2A';
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
  const approvals = new McpApprovals();
  const { approve } = approvals;
  await using agent = await openCommandAgent(terminal, { path, json, approve });
  const face = await openFace(agent, approvals, createCommandLog(terminal, json));
  try {
    if (mcp === 'stdio') await serveStdio(face, stopped);
    else await serveHttp(face, agent, options, terminal, stopped);
  } finally {
    face.close();
  }
}

async function openFace(agent: Agent, given: McpApprovals, log: Log): Promise<AgentMcpFace> {
  const approvals = agent.config.toml.mcp.approvals === 'caller' ? given : undefined;
  return await AgentMcpFace.open({ agent, approvals, log });
}

async function serveStdio(face: AgentMcpFace, stopped: Promise<void>): Promise<void> {
  const served = serveMcpStdio(face, process.stdin, process.stdout);
  await Promise.race([served.closed, stopped]);
  await served.close();
  process.stdin.destroy();
}

async function serveHttp(
  face: AgentMcpFace,
  agent: Agent,
  given: Options,
  terminal: Terminal,
  stopped: Promise<void>,
): Promise<void> {
  const { port = 0, host = '127.0.0.1', key: reference, anonymous, json = false } = given;
  const options = { host, key: reference, anonymous };
  const { openAgentKey } = await import('./agent-keys.ts');
  const { authenticator, shown, header, save } = await openAgentKey(
    terminal,
    agentFolder(terminal.env, agent),
    options,
  );
  const served = await openMcpHttp(face, { host, port, authenticator });
  let registered: RegisteredAgent | undefined;
  try {
    const { url } = served;
    const clientFile = await save(url);
    if (given.register !== undefined) {
      const { registerAgent } = await import('../registered-agent.ts');
      const { register, advertise, node, tier } = given;
      const place = { url: advertise ?? url, header, node, tier };
      registered = await registerAgent(terminal, register, agent.config.agent, place);
    }
    const ready = { event: 'ready', url, pid: process.pid, client_file: clientFile };
    if (json) terminal.json(ready);
    else
      terminal.tell(
        describe({ name: face.agent.name, what: 'MCP', url, shown, clientFile, anonymous }),
      );
    await stopped;
    if (!json) terminal.tell('stopping: finishing what is in flight');
    await registered?.drain();
  } finally {
    await registered?.leave();
    await served.close();
  }
}

function describe({ name, what, url, shown, clientFile, anonymous }: Served): string {
  const notes = [
    ...(anonymous ? ['not needed on this machine'] : []),
    ...(clientFile === undefined ? [] : [`also in ${clientFile}`]),
  ];
  return [
    `${name} serves ${what} at ${url}`,
    `  key   ${shown}${notes.length > 0 ? `   (${notes.join('; ')})` : ''}`,
    'Ctrl-C stops it.',
  ].join('\n');
}

/** Serves other agents over A2A until a signal stops it. Approval is asked for in the task. */
export async function runForAgents(
  terminal: Terminal,
  path: string | undefined,
  given: RunOptions,
): Promise<void> {
  const { port = 0, host = '127.0.0.1', key: reference, anonymous, json = false } = given;
  const [{ openA2aServer, TaskApprovals }, { openAgentKey }] = await Promise.all([
    import('@starloom/runtime/a2a'),
    import('./agent-keys.ts'),
  ]);
  const stopped = untilStopped();
  const approvals = new TaskApprovals();
  const { approve, askCaller } = approvals;
  await using agent = await openCommandAgent(terminal, { path, json, approve, askCaller });
  const folder = agentFolder(terminal.env, agent);
  const options = { host, key: reference, anonymous };
  const { authenticator, shown, save } = await openAgentKey(terminal, folder, options);
  const log = createCommandLog(terminal, json);
  const needsKey = !anonymous;
  const served = await openA2aServer({
    ...{ agent, approvals, host, port, authenticator, needsKey, folder, log },
  });
  try {
    const { url, cardKey } = served;
    const clientFile = await save(url);
    const ready = { event: 'ready', url, pid: process.pid, client_file: clientFile };
    if (json) terminal.json({ ...ready, card_key: cardKey });
    else {
      terminal.tell(describe({ name: agent.name, what: 'A2A', url, shown, clientFile, anonymous }));
    }
    await stopped;
    if (!json) terminal.tell('stopping: finishing what is in flight');
  } finally {
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
