// An agent as editors see it, over the Agent Client Protocol. A prompt is a turn of the person at the
// editor, trusted as `security.user_trust` says; what happens in it is shown as it happens. Sessions are
// those of the agent: one that an earlier process began can be shown again, and goes on.

import { Readable, Writable } from 'node:stream';
import {
  type AgentApp,
  type AgentConnection,
  type AgentContext,
  agent as createApp,
  type InitializeRequest,
  type InitializeResponse,
  type LoadSessionRequest,
  type LoadSessionResponse,
  methods,
  type NewSessionRequest,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptRequest,
  type PromptResponse,
  RequestError,
  type SessionConfigOption,
  type SetSessionConfigOptionRequest,
  type SetSessionModeRequest,
  type Stream,
} from '@agentclientprotocol/sdk';
import { FabricError, type Log } from '@starloom/core';
import type { Agent } from '../agent.ts';
import type { EditorAccess } from '../core/seams.ts';
import { listSlashCommands } from '../core/slash-commands.ts';
import { type EditorApprovals, toEditorAccess } from './editor-access.ts';
import { PromptUpdates, replay, type ToolView, toMessage } from './prompt-updates.ts';
import { type Entered, type OpenFor, Workspaces } from './workspaces.ts';

export interface EditorFaceOptions {
  readonly agent: Agent;
  /** With which the agent was opened. */
  readonly approvals: EditorApprovals;
  /** Opens the agent for the folder of an editor; absent: it works in its own folder alone. */
  readonly openFor?: OpenFor | undefined;
  readonly log: Log;
}

interface EditorSession extends Entered {
  readonly view: ToolView;
  readonly running: Set<AbortController>;
  mode: Mode;
  model: string;
  readonly unwatch: () => void;
}

type Mode = (typeof MODES)[number]['id'];

const MODES = [
  { id: 'default', name: 'Default', description: 'Acts, and asks where agent.toml says so' },
  { id: 'read', name: 'Read only', description: 'Has no tools that act' },
] as const;
const MODEL = 'model';
const LISTED = 100;

export class EditorFace {
  readonly #agent: Agent;
  readonly #approvals: EditorApprovals;
  readonly #workspaces: Workspaces;
  readonly #canFollow: boolean;
  /** Those that this editor opened. */
  readonly #sessions = new Map<string, EditorSession>();
  #editor: EditorAccess | undefined;

  constructor({ agent, approvals, openFor, log }: EditorFaceOptions) {
    this.#agent = agent;
    this.#approvals = approvals;
    this.#workspaces = new Workspaces({ agent, openFor, log });
    this.#canFollow = openFor !== undefined;
  }

  /** Serves one editor until it disconnects: what it had running is cancelled then. */
  connect(stream: Stream): AgentConnection {
    const connection = this.#createApp().connect(stream);
    const own = this.#viewOf(this.#agent, this.#agent.config.folder);
    this.#approvals.connect({
      client: connection.client,
      viewOf: (sessionId) => this.#sessions.get(sessionId)?.view ?? own,
    });
    void connection.closed.then(() => {
      for (const sessionId of [...this.#sessions.keys()]) this.#leave(sessionId);
    });
    return connection;
  }

  /** Resolves when nothing of an editor that has left runs any more. */
  close(): Promise<void> {
    return this.#workspaces.close();
  }

  #createApp(): AgentApp {
    const { session } = methods.agent;
    return createApp({ name: this.#agent.name })
      .onRequest(methods.agent.initialize, ({ params, client }) => this.#initialize(params, client))
      .onRequest(session.new, async ({ params, client }) => {
        const sessionId = crypto.randomUUID();
        return { sessionId, ...(await this.#enter(sessionId, params, client)) };
      })
      .onRequest(session.load, ({ params, client }) => this.#load(params, client))
      .onRequest(session.resume, async ({ params, client }) => {
        await this.#assertKept(params.sessionId);
        return await this.#enter(params.sessionId, { mcpServers: [], ...params }, client);
      })
      .onRequest(session.list, async () => ({ sessions: await this.#list() }))
      .onRequest(session.close, ({ params }) => {
        this.#leave(params.sessionId);
        return {};
      })
      .onRequest(session.setMode, ({ params }) => this.#setMode(params))
      .onRequest(session.setConfigOption, ({ params }) => this.#setOption(params))
      .onRequest(session.prompt, ({ params, client }) => this.#prompt(params, client))
      .onNotification(session.cancel, ({ params }) => this.#cancel(params.sessionId));
  }

  #initialize(
    { clientCapabilities = {} }: InitializeRequest,
    client: AgentContext,
  ): InitializeResponse {
    const { name, version, config } = this.#agent;
    const takes = this.#agent.takes();
    this.#editor = toEditorAccess(client, clientCapabilities);
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: {
        name: config.toml.acp.name ?? name,
        version: config.toml.acp.version ?? version,
      },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: {
          image: takes.has('image'),
          audio: takes.has('audio'),
          embeddedContext: true,
        },
        mcpCapabilities: { http: this.#canFollow, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
      authMethods: [],
    };
  }

  async #enter(
    sessionId: string,
    params: Pick<NewSessionRequest, 'cwd' | 'mcpServers'>,
    client: AgentContext,
  ): Promise<LoadSessionResponse> {
    const entered = await this.#workspaces.enter(params, this.#editor);
    const { agent, folder } = entered;
    const before = this.#sessions.get(sessionId);
    const [model = ''] = agent.models();
    const session: EditorSession = {
      ...entered,
      view: this.#viewOf(agent, folder),
      running: before?.running ?? new Set(),
      mode: before?.mode ?? 'default',
      model: before?.model ?? model,
      unwatch: agent.onToolsChanged(() => this.#sendCommands(client, sessionId)),
    };
    this.#release(before);
    this.#sessions.set(sessionId, session);
    // After the answer: before it the editor does not know the session.
    setImmediate(() => this.#sendCommands(client, sessionId));
    return {
      modes: { currentModeId: session.mode, availableModes: [...MODES] },
      configOptions: optionsOf(session),
    };
  }

  #viewOf(agent: Agent, folder: string): ToolView {
    return { tools: () => agent.tools(), folder };
  }

  #sendCommands(client: AgentContext, sessionId: string): void {
    const session = this.#sessions.get(sessionId);
    if (!session) return;
    const commands = listSlashCommands(session.agent.toolsFor('editor'));
    new PromptUpdates(client, sessionId, session.view).send({
      sessionUpdate: 'available_commands_update',
      availableCommands: commands.map(([name, { description }]) => ({
        name,
        description,
        input: { hint: 'arguments' },
      })),
    });
  }

  async #load(params: LoadSessionRequest, client: AgentContext): Promise<LoadSessionResponse> {
    const { sessionId } = params;
    await this.#assertKept(sessionId);
    const answer = await this.#enter(sessionId, params, client);
    const { agent, view } = this.#sessionOf(sessionId);
    const updates = new PromptUpdates(client, sessionId, view);
    for (const block of await agent.history(sessionId)) {
      for (const update of replay(block, view)) updates.send(update);
    }
    await updates.flush();
    return answer;
  }

  #setMode({ sessionId, modeId }: SetSessionModeRequest): object {
    const mode = MODES.find(({ id }) => id === modeId);
    if (!mode) throw RequestError.invalidParams({ modeId }, 'there is no such mode');
    this.#sessionOf(sessionId).mode = mode.id;
    return {};
  }

  #setOption({ sessionId, configId, ...given }: SetSessionConfigOptionRequest) {
    const session = this.#sessionOf(sessionId);
    const { value } = given;
    const isKnown = configId === MODEL && session.agent.models().some((name) => name === value);
    if (!isKnown) throw RequestError.invalidParams({ configId, value }, 'there is no such option');
    session.model = String(value);
    return { configOptions: optionsOf(session) };
  }

  #sessionOf(sessionId: string): EditorSession {
    const session = this.#sessions.get(sessionId);
    if (session) return session;
    throw RequestError.resourceNotFound(sessionId);
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
      cwd: this.#sessions.get(id)?.folder ?? this.#agent.config.folder,
      updatedAt: new Date(updatedAt).toISOString(),
    }));
  }

  async #prompt(
    { sessionId, prompt }: PromptRequest,
    client: AgentContext,
  ): Promise<PromptResponse> {
    const { agent, view, running, mode, model } = this.#sessionOf(sessionId);
    const control = new AbortController();
    const updates = new PromptUpdates(client, sessionId, view);
    running.add(control);
    try {
      const { signal } = control;
      const { segments: message, attachments } = toMessage(prompt);
      const { steps, segments } = await agent.turn(message, {
        ...{ sessionId, signal, attachments, model },
        readOnly: mode === 'read',
        caller: 'editor',
        onEvent: updates.note,
      });
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
    for (const control of this.#sessions.get(sessionId)?.running ?? []) {
      control.abort(new FabricError('CANCELLED', 'The prompt was cancelled in the editor'));
    }
  }

  #leave(sessionId: string): void {
    this.#cancel(sessionId);
    this.#release(this.#sessions.get(sessionId));
    this.#sessions.delete(sessionId);
  }

  #release(session: EditorSession | undefined): void {
    session?.unwatch();
    session?.leave();
  }
}

function optionsOf({ agent, model }: EditorSession): SessionConfigOption[] {
  const models = agent.models();
  if (models.length < 2) return [];
  const options = models.map((name) => ({ value: name, name }));
  return [
    { type: 'select', id: MODEL, name: 'Model', category: 'model', currentValue: model, options },
  ];
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
