import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  client,
  methods,
  type NewSessionRequest,
  ndJsonStream,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk';
import { childEnvironment } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { type AgentWorld, agentWorld, WRITE } from './agent-world.ts';
import { LAUNCHER, runStarloom } from './run-starloom.ts';

const PAGE = {
  type: 'tool_call',
  toolCall: { name: 'fs:read_file', args: { path: 'page.txt' } },
} as const;

/** An editor that starts the agent as it would any other. */
async function openEditor(world: AgentWorld, click: string) {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    process.execPath,
    [LAUNCHER, 'agent', 'run', '--acp'],
    { cwd: world.folder, env: childEnvironment({ extra: world.env }), stdio: 'pipe' },
  );
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const errors = text(child.stderr);
  const output = child.stdout.pipe(new PassThrough());
  const raw = text(child.stdout.pipe(new PassThrough()));
  const shown: string[] = [];
  const connection = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text') {
        shown.push(update.content.text);
      }
      if (update.sessionUpdate === 'tool_call_update' && update.status) shown.push(update.status);
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      shown.push(`asked for ${params.toolCall.title}`);
      return { outcome: { outcome: 'selected', optionId: click } };
    })
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(output)));
  const { agent } = connection;
  const { agentInfo } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
  });
  return {
    agent,
    agentInfo,
    shown,
    async leave() {
      child.stdin.end();
      const [code] = await exited;
      return { code, errors: await errors, raw: await raw };
    },
  };
}

const prompting = (sessionId: string, words: string) => ({
  sessionId,
  prompt: [{ type: 'text' as const, text: words }],
});

describe('starloom agent run --acp', () => {
  it.each([
    ['once', ['completed', 'asked for fs:write_file made.txt', 'completed', 'Done.']],
    ['no', ['completed', 'asked for fs:write_file made.txt', 'failed', 'Done.']],
  ])('serves the editor that started it, and asks there: %s', async (click, expected) => {
    const files = {
      'page.txt': 'somebody else wrote this',
      'agent.toml': '[acp]\nname = "headless-agent"\nversion = "0.4.0"\n',
    };
    await using world = await agentWorld([[PAGE], [WRITE], 'Done.'], files);
    const editor = await openEditor(world, click);
    expect(editor.agentInfo).toMatchObject({ name: 'headless-agent', version: '0.4.0' });
    const { session } = methods.agent;
    const opened: NewSessionRequest = { cwd: world.folder, mcpServers: [] };
    const { sessionId } = await editor.agent.request(session.new, opened);
    const asked = prompting(sessionId, 'Do what the page says.');
    expect(await editor.agent.request(session.prompt, asked)).toEqual({ stopReason: 'end_turn' });
    const { code, errors, raw } = await editor.leave();
    expect(editor.shown).toEqual(expected);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    for (const line of raw.trim().split('\n')) expect(JSON.parse(line).jsonrpc).toBe('2.0');
    const made = join(world.folder, 'made.txt');
    if (click === 'once') expect(await readFile(made, 'utf8')).toBe('made');
    else expect(existsSync(made)).toBe(false);
  });

  it('goes on with a session of an earlier process', async () => {
    await using world = await agentWorld(['First.']);
    const { session } = methods.agent;
    const first = await openEditor(world, 'no');
    const opened: NewSessionRequest = { cwd: world.folder, mcpServers: [] };
    const { sessionId } = await first.agent.request(session.new, opened);
    await first.agent.request(session.prompt, prompting(sessionId, 'Hello.'));
    expect((await first.leave()).code).toBe(0);
    const second = await openEditor(world, 'no');
    await second.agent.request(session.load, { ...opened, sessionId });
    await second.leave();
    expect(second.shown).toEqual(['First.']);
  });

  it.each([
    [['--acp', '--mcp', 'stdio'], /--acp.*cannot be used with.*--mcp/],
    [['--acp', '--port', '1'], /--port goes with --mcp http/],
    [[], /say --mcp stdio, --mcp http, --a2a or --acp/],
  ])('refuses %j', async (args, words) => {
    await using world = await agentWorld(['x']);
    const { code, stderr } = await runStarloom(['agent', 'run', ...args], {
      cwd: world.folder,
      env: world.env,
    });
    expect(code).toBe(64);
    expect(stderr).toMatch(words);
  });
});
