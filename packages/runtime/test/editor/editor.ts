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
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { silentLog } from '@starloom/core';
import { EditorApprovals, EditorFace } from '../../src/editor/index.ts';
import { openWorld, type World } from '../core/world.ts';

type WorldOptions = Parameters<typeof openWorld>[0];

export interface EditorOptions extends Omit<WorldOptions, 'approve'> {
  /** What the person clicks; without it a question is cancelled. */
  readonly clicks?: (request: RequestPermissionRequest) => string | Promise<string>;
}

export interface Editor extends AsyncDisposable {
  readonly world: World;
  readonly connection: ClientConnection;
  /** Everything that was shown, without the list of commands. */
  readonly shown: SessionUpdate[];
  readonly commands: string[][];
  readonly asked: RequestPermissionRequest[];
  open(): Promise<string>;
  /** As a process that ends does. */
  leave(): void;
  prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<string>;
}

export async function openEditor({ clicks, ...options }: EditorOptions): Promise<Editor> {
  const approvals = new EditorApprovals();
  const log = options.log ?? silentLog;
  const world = await openWorld({ ...options, approve: approvals.approve });
  const face = new EditorFace({ agent: world.agent, approvals, log });
  const [toAgent, toEditor] = [new TransformStream(), new TransformStream()];
  const served = face.connect(ndJsonStream(toEditor.writable, toAgent.readable));
  const shown: SessionUpdate[] = [];
  const commands: string[][] = [];
  const asked: RequestPermissionRequest[] = [];
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
    .connect(ndJsonStream(toAgent.writable, toEditor.readable));
  const { agent } = connection;
  await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
  return {
    world,
    connection,
    shown,
    commands,
    asked,
    async open() {
      const params: NewSessionRequest = { cwd: '/tmp', mcpServers: [] };
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
