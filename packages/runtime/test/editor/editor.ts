// An editor beside an agent in one process, over a pair of streams as stdio would be.

import {
  type ClientConnection,
  type ContentBlock,
  client,
  methods,
  type NewSessionRequest,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptRequest,
  RequestError,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { silentLog } from '@starloom/core';
import { EditorApprovals, EditorFace } from '../../src/editor/index.ts';
import type { Workspace } from '../../src/index.ts';
import { openWorld, type World } from '../core/world.ts';

type WorldOptions = Parameters<typeof openWorld>[0];

export interface EditorOptions extends Omit<WorldOptions, 'approve'> {
  /** What the person clicks; without it a question is cancelled. */
  readonly clicks?: (request: RequestPermissionRequest) => string | Promise<string>;
  /** The agent follows it into its folders. */
  readonly follows?: boolean;
  /** Its own files, by path, as the person sees them; without them it offers none. */
  readonly files?: Map<string, string>;
  /** What its terminals print; without it it offers none. */
  readonly terminal?: (command: string) => Promise<string>;
}

export interface Editor extends AsyncDisposable {
  readonly world: World;
  readonly connection: ClientConnection;
  /** Everything that was shown, without the list of commands. */
  readonly shown: SessionUpdate[];
  readonly commands: string[][];
  readonly asked: RequestPermissionRequest[];
  /** What it was asked to do in its terminals, in order. */
  readonly terminals: string[];
  open(params?: Partial<NewSessionRequest>): Promise<string>;
  /** As a process that ends does. */
  leave(): void;
  prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<string>;
}

export async function openEditor(given: EditorOptions): Promise<Editor> {
  const { clicks, follows, files, terminal, ...options } = given;
  const approvals = new EditorApprovals();
  const log = options.log ?? silentLog;
  const world = await openWorld({ ...options, approve: approvals.approve });
  const openFor = async (workspace: Workspace) =>
    (await openWorld({ ...options, workspace, approve: approvals.approve })).agent;
  const face = new EditorFace({
    ...{ agent: world.agent, approvals, log },
    ...(follows && { openFor }),
  });
  const [toAgent, toEditor] = [new TransformStream(), new TransformStream()];
  const served = face.connect(ndJsonStream(toEditor.writable, toAgent.readable));
  const shown: SessionUpdate[] = [];
  const commands: string[][] = [];
  const asked: RequestPermissionRequest[] = [];
  const terminals: string[] = [];
  let printed = '';
  const connection = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate !== 'available_commands_update') shown.push(update);
      else commands.push(update.availableCommands.map(({ name }) => name));
    })
    .onRequest(methods.client.session.requestPermission, async ({ params }) => {
      asked.push(params);
      if (!clicks) return { outcome: { outcome: 'cancelled' } };
      return { outcome: { outcome: 'selected', optionId: await clicks(params) } };
    })
    .onRequest(methods.client.fs.readTextFile, ({ params: { path } }) => {
      const content = files?.get(path);
      if (content === undefined) throw RequestError.resourceNotFound(path);
      return { content };
    })
    .onRequest(methods.client.fs.writeTextFile, ({ params: { path, content } }) => {
      files?.set(path, content);
      return {};
    })
    .onRequest(methods.client.terminal.create, ({ params: { args = [], cwd } }) => {
      terminals.push(`create in ${cwd}: ${args.at(-1)}`);
      return { terminalId: 't1' };
    })
    .onRequest(methods.client.terminal.waitForExit, async () => {
      printed = (await terminal?.(terminals.at(-1) ?? '')) ?? '';
      return { exitCode: 0 };
    })
    .onRequest(methods.client.terminal.output, () => ({ output: printed, truncated: false }))
    .onRequest(methods.client.terminal.kill, () => {
      terminals.push('kill');
      return {};
    })
    .onRequest(methods.client.terminal.release, () => {
      terminals.push('release');
      return {};
    })
    .connect(ndJsonStream(toAgent.writable, toEditor.readable));
  const { agent } = connection;
  await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {
      ...(files && { fs: { readTextFile: true, writeTextFile: true } }),
      ...(terminal && { terminal: true }),
    },
  });
  return {
    world,
    connection,
    shown,
    commands,
    asked,
    terminals,
    async open(more = {}) {
      const params: NewSessionRequest = { cwd: '/tmp', mcpServers: [], ...more };
      const { sessionId } = await agent.request(methods.agent.session.new, params);
      return sessionId;
    },
    async prompt(sessionId, prompt) {
      const blocks =
        typeof prompt === 'string' ? [{ type: 'text' as const, text: prompt }] : prompt;
      const params: PromptRequest = { sessionId, prompt: blocks };
      const { stopReason } = await agent.request(methods.agent.session.prompt, params);
      return stopReason;
    },
    leave() {
      served.close();
      connection.close();
    },
    async [Symbol.asyncDispose]() {
      connection.close();
      served.close();
      await served.closed;
      await face.close();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** Each update in a few words. */
export function inWords(updates: readonly SessionUpdate[]): string[] {
  return updates.map((update) => {
    switch (update.sessionUpdate) {
      case 'user_message_chunk':
      case 'agent_message_chunk':
      case 'agent_thought_chunk': {
        const who = update.sessionUpdate.split('_', 2).join(' ');
        const { content } = update;
        return `${who}: ${content.type === 'text' ? content.text : content.type}`;
      }
      case 'tool_call':
        return `call ${update.title} (${update.kind})`;
      case 'tool_call_update': {
        const [first] = update.content ?? [];
        const block = first?.type === 'content' ? first.content : undefined;
        return `${update.status ?? 'progress'}: ${block?.type === 'text' ? block.text : ''}`;
      }
      default:
        return update.sessionUpdate;
    }
  });
}
