// An agent as editors see it, over the Agent Client Protocol. A prompt is a turn of the person at the
// editor, trusted as `security.user_trust` says; what happens in it is shown as it happens. Sessions are
// those of the agent: one that an earlier process began can be shown again, and goes on.

import { isAbsolute, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  type AgentApp,
  type AgentConnection,
  type AgentContext,
  agent as createApp,
  type InitializeResponse,
  type LoadSessionRequest,
  methods,
  ndJsonStream,
  type PermissionOption,
  PROTOCOL_VERSION,
  type PromptRequest,
  type PromptResponse,
  RequestError,
  type RequestPermissionRequest,
  type Stream,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk';
import { FabricError, type Log } from '@starloom/core';
import type { Agent } from '../agent.ts';
import type { Approve } from '../core/seams.ts';
import { listSlashCommands } from '../core/slash-commands.ts';
import { toSegments } from './content.ts';
import {
  describeCall,
  PromptUpdates,
  replay,
  type ToolView,
  textContent,
} from './prompt-updates.ts';

export interface EditorFaceOptions {
  readonly agent: Agent;
  /** With which the agent was opened. */
  readonly approvals: EditorApprovals;
  readonly log: Log;
}

const CAPABILITIES = {
  loadSession: true,
  promptCapabilities: { image: true, audio: true, embeddedContext: true },
  sessionCapabilities: { list: {}, resume: {}, close: {} },
};
const LISTED = 100;

export class EditorFace {
  readonly #agent: Agent;
  readonly #approvals: EditorApprovals;
  readonly #log: Log;
  readonly #view: ToolView;
  /** By session that this editor opened: the prompts that run. */
  readonly #sessions = new Map<string, Set<AbortController>>();

  constructor({ agent, approvals, log }: EditorFaceOptions) {
    this.#agent = agent;
    this.#approvals = approvals;
    this.#log = log;
    this.#view = { tools: () => agent.tools(), folder: resolve(agent.config.folder) };
  }

  /** Serves one editor until it disconnects: what it had running is cancelled then. */
  connect(stream: Stream): AgentConnection {
    const connection = this.#createApp().connect(stream);
    this.#approvals.connect(connection.client, this.#view);
    const unwatch = this.#agent.onToolsChanged(() => {
      for (const sessionId of this.#sessions.keys()) this.#tellCommands(connection, sessionId);
    });
    void connection.closed.then(() => {
      unwatch();
      for (const sessionId of [...this.#sessions.keys()]) this.#leave(sessionId);
    });
    return connection;
  }

  #createApp(): AgentApp {
    const { session } = methods.agent;
    return createApp({ name: this.#agent.name })
      .onRequest(methods.agent.initialize, () => this.#initialize())
      .onRequest(session.new, ({ params, client }) => {
        this.#check(params);
        return this.#enter(crypto.randomUUID(), client);
      })
      .onRequest(session.load, ({ params, client }) => this.#load(params, client))
      .onRequest(session.resume, async ({ params, client }) => {
        this.#check({ mcpServers: [], ...params });
        await this.#assertKept(params.sessionId);
        this.#enter(params.sessionId, client);
        return {};
      })
      .onRequest(session.list, async () => ({ sessions: await this.#list() }))
      .onRequest(session.close, ({ params }) => {
        this.#leave(params.sessionId);
        return {};
      })
      .onRequest(session.prompt, ({ params, client }) => this.#prompt(params, client))
      .onNotification(session.cancel, ({ params }) => this.#cancel(params.sessionId));
  }

  #initialize(): InitializeResponse {
    const { name, version, config } = this.#agent;
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: {
        name: config.toml.acp.name ?? name,
        version: config.toml.acp.version ?? version,
      },
      agentCapabilities: CAPABILITIES,
      authMethods: [],
    };
  }

  #check({ cwd, mcpServers }: Pick<LoadSessionRequest, 'cwd' | 'mcpServers'>): void {
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, 'cwd must be absolute');
    if (mcpServers.length === 0) return;
    const names = mcpServers.map(({ name }) => name).join(', ');
    const fix = 'add them to [[mcp.servers]] of agent.toml';
    this.#log.warn({ servers: names, fix }, 'MCP servers of the editor are not used');
  }

  #enter(sessionId: string, client: AgentContext): { sessionId: string } {
    if (!this.#sessions.has(sessionId)) this.#sessions.set(sessionId, new Set());
    // After the answer: before it the editor does not know the session.
    setImmediate(() => this.#tellCommands({ client }, sessionId));
    return { sessionId };
  }

  #tellCommands({ client }: Pick<AgentConnection, 'client'>, sessionId: string): void {
    const commands = listSlashCommands(this.#agent.tools());
    new PromptUpdates(client, sessionId, this.#view).send({
      sessionUpdate: 'available_commands_update',
      availableCommands: commands.map(([name, { description }]) => ({
        name,
        description,
        input: { hint: 'arguments' },
      })),
    });
  }

  async #load(params: LoadSessionRequest, client: AgentContext): Promise<object> {
    const { sessionId } = params;
    this.#check(params);
    await this.#assertKept(sessionId);
    const updates = new PromptUpdates(client, sessionId, this.#view);
    for (const block of await this.#agent.history(sessionId)) {
      for (const update of replay(block, this.#view)) updates.send(update);
    }
    await updates.flush();
    this.#enter(sessionId, client);
    return {};
  }

  async #assertKept(sessionId: string): Promise<void> {
    if (this.#sessions.has(sessionId)) return;
    const kept = await this.#agent.sessions();
    if (!kept.some(({ id }) => id === sessionId)) throw RequestError.resourceNotFound(sessionId);
  }

  async #list() {
    const kept = await this.#agent.sessions();
    return kept.slice(0, LISTED).map(({ id, updatedAt }) => ({
      sessionId: id,
      cwd: this.#view.folder,
      updatedAt: new Date(updatedAt).toISOString(),
    }));
  }

  async #prompt(
    { sessionId, prompt }: PromptRequest,
    client: AgentContext,
  ): Promise<PromptResponse> {
    const running = this.#sessions.get(sessionId);
    if (!running) throw RequestError.resourceNotFound(sessionId);
    const control = new AbortController();
    const updates = new PromptUpdates(client, sessionId, this.#view);
    running.add(control);
    try {
      const { signal } = control;
      const turn = { sessionId, signal, onEvent: updates.note };
      const { steps, segments } = await this.#agent.turn(toSegments(prompt), turn);
      // What the model says was shown as it came; a command has only its output.
      if (steps === 0) updates.say(segments);
      return { stopReason: updates.stopReason };
    } catch (thrown) {
      return { stopReason: toStopReason(FabricError.from(thrown), updates) };
    } finally {
      running.delete(control);
      await updates.flush();
    }
  }

  #cancel(sessionId: string): void {
    for (const control of this.#sessions.get(sessionId) ?? []) {
      control.abort(new FabricError('CANCELLED', 'The prompt was cancelled in the editor'));
    }
  }

  #leave(sessionId: string): void {
    this.#cancel(sessionId);
    this.#sessions.delete(sessionId);
  }
}

/** Throws the error where the protocol has no stop reason for it. */
function toStopReason(error: FabricError, updates: PromptUpdates) {
  const reason = PromptUpdates.stoppedBy(error);
  const { code, message, details, row } = error;
  if (!reason) throw new RequestError(row.rpc, message, { code, details });
  if (reason !== 'cancelled') updates.say([{ type: 'text', text: message }]);
  return reason;
}

export interface ServedEditor {
  /** Resolves when the editor has left. */
  readonly closed: Promise<void>;
  close(): void;
}

/** The editor has started this process: its input and output are the connection. */
export function serveEditor(face: EditorFace, input: Readable, output: Writable): ServedEditor {
  const connection = face.connect(ndJsonStream(Writable.toWeb(output), Readable.toWeb(input)));
  return { closed: connection.closed, close: () => connection.close() };
}

const OPTIONS: readonly PermissionOption[] = [
  { optionId: 'once', name: 'Allow', kind: 'allow_once' },
  { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];

/**
 * Asks in the editor for the approval of a tool call. It is created before the agent, which is opened with
 * it; until an editor has connected it approves nothing.
 */
export class EditorApprovals {
  #editor: { readonly client: AgentContext; readonly view: ToolView } | undefined;

  connect(client: AgentContext, view: ToolView): void {
    this.#editor = { client, view };
  }

  readonly approve: Approve = async ({ call, sessionId, signal }, _tool, { reasons }) => {
    if (!this.#editor) return false;
    const { client, view } = this.#editor;
    const { sessionUpdate: _, ...described } = describeCall(call, view);
    const content = reasons.map(textContent);
    const toolCall: ToolCallUpdate = { ...described, status: 'pending', content };
    const params: RequestPermissionRequest = { sessionId, toolCall, options: [...OPTIONS] };
    const { outcome } = await client.request(methods.client.session.requestPermission, params, {
      cancellationSignal: signal,
    });
    if (outcome.outcome !== 'selected') return false;
    return outcome.optionId === 'always' ? 'always' : outcome.optionId === 'once';
  };
}
