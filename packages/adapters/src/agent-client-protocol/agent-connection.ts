// One running process of an agent, as the client of its protocol. It is initialized once and then
// holds many sessions. A turn that the agent does not end after a cancel costs the process: it takes
// no new calls, and is ended with all it started when the calls that are open are over.

import { randomUUID } from 'node:crypto';
import {
  type AgentRequestMethod,
  type AgentRequestParamsByMethod,
  type AgentRequestResponsesByMethod,
  type ClientConnection,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
  type PromptRequest,
} from '@agentclientprotocol/sdk';
import { FabricError, type Log, orAborted, toFields } from '@starloom/core';
import {
  cleanText,
  deadlineSignal,
  type Excerpt,
  type ManagedProcess,
  settlesWithin,
} from '@starloom/wire';
import { failure } from '../reasons.ts';
import { PooledProcess } from '../upstream/process-pool.ts';
import { startProgram } from '../upstream/program.ts';
import { answerAgent, ServedFiles, Terminals } from './agent-requests.ts';
import { toFailure } from './failure.ts';
import { assertShape, openMessageStream } from './message-stream.ts';
import type { Settings } from './options.ts';
import type { PromptTurn } from './prompt-turn.ts';
import { EditorSession, type SessionHandle } from './sessions.ts';

interface AgentConnectionOptions {
  readonly settings: Settings;
  readonly excerpt: Excerpt;
  readonly log: Log;
}

const AGENT = methods.agent;

export class AgentClientConnection extends PooledProcess {
  readonly id = randomUUID();
  /** Resolves when the agent takes sessions; rejects when it does not in time. */
  readonly ready: Promise<InitializeResponse>;
  readonly gone: Promise<void>;
  readonly #options: AgentConnectionOptions;
  readonly #rpc: ClientConnection;
  readonly #files: ServedFiles;
  readonly #terminals: Terminals;
  /** In the order of their last use. */
  readonly #sessions = new Map<string, EditorSession>();
  readonly #resuming = new Map<string, Promise<EditorSession>>();
  #agent: InitializeResponse | undefined;
  #users = 0;
  #idle: NodeJS.Timeout | undefined;

  /** Rejects with AGENT_OFFLINE when the program cannot be started. */
  static async start(options: AgentConnectionOptions): Promise<AgentClientConnection> {
    const { settings, excerpt, log } = options;
    return new AgentClientConnection(await startProgram(settings, excerpt, log), options);
  }

  private constructor(child: ManagedProcess, options: AgentConnectionOptions) {
    const { settings, excerpt, log } = options;
    super(child);
    this.#options = options;
    this.#files = new ServedFiles(settings);
    this.#terminals = new Terminals(settings, this.#files, log);
    const onUpdate = (params: unknown, bytes: number) => this.#onUpdate(params, bytes);
    this.#rpc = answerAgent({
      find: (sessionId) => this.#sessions.get(sessionId),
      files: this.#files,
      terminals: this.#terminals,
    }).connect(openMessageStream({ child, onUpdate, excerpt, log }));
    this.gone = this.#rpc.closed.then(() => this.#end());
    this.ready = this.#initialize();
    this.ready.catch((error: unknown) => this.stop(FabricError.from(error)));
  }

  get users(): number {
    return this.#users;
  }

  /** What the agent said of itself; `undefined` until it is ready. */
  get agent(): InitializeResponse | undefined {
    return this.#agent;
  }

  /** Whether sessions outlive the process. */
  get canResume(): boolean {
    const { loadSession, sessionCapabilities } = this.#agent?.agentCapabilities ?? {};
    return loadSession === true || sessionCapabilities?.resume != null;
  }

  enter(): void {
    this.#users += 1;
    clearTimeout(this.#idle);
  }

  leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    if (!this.isOpen) void this.stop();
    else this.#rest();
  }

  /** The session of the handle. Ids of sessions that outlive a process mean the same in all of them. */
  holds({ session_id, process }: SessionHandle): EditorSession | undefined {
    const isOwn = process === this.id || this.canResume;
    return isOwn ? this.#sessions.get(session_id) : undefined;
  }

  async open(signal: AbortSignal): Promise<EditorSession> {
    const { cwd } = this.#options.settings;
    const asked = this.#request(AGENT.session.new, { cwd, mcpServers: [] });
    const made = asked.then((session) => assertShape('session', session));
    try {
      const { sessionId } = await orAborted(made, signal);
      const session = this.#add(sessionId);
      await this.#prepare(sessionId, signal);
      return session;
    } catch (error) {
      void made.then(({ sessionId }) => this.closeSession(sessionId)).catch(() => {});
      throw this.#withLogins(FabricError.from(error));
    }
  }

  /** A session that the agent kept; calls that want the same one share it. */
  async resume(sessionId: string, signal: AbortSignal): Promise<EditorSession> {
    const known = this.#sessions.get(sessionId);
    if (known) return known;
    const resuming = this.#resuming.get(sessionId) ?? this.#resume(sessionId);
    this.#resuming.set(sessionId, resuming);
    return orAborted(resuming, signal);
  }

  /** Sends the prompt; an error thrown here means that nothing was sent. */
  prompt(session: EditorSession, request: Omit<PromptRequest, 'sessionId'>, turn: PromptTurn) {
    this.assertTakes();
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
    const answered = this.#rpc.agent.request(AGENT.session.prompt, {
      sessionId: session.id,
      ...request,
    });
    // Cleared before the call hears of its end: from then on there is nothing to cancel.
    const isOver = () => {
      session.running = undefined;
    };
    const ended = answered
      .finally(isOver)
      .then((response) => {
        this.served += 1;
        turn.finish(assertShape('prompted', response));
      })
      .catch((error: unknown) => turn.fail(error));
    session.running = { turn, ended };
    return ended;
  }

  /** The caller left: the agent has the grace period to end the turn, then its process is ended. */
  async cancel(session: EditorSession, turn: PromptTurn): Promise<void> {
    turn.stop();
    const { running } = session;
    if (running?.turn !== turn) return;
    const { log, settings } = this.#options;
    this.#rpc.agent
      .notify(AGENT.session.cancel, { sessionId: session.id })
      .catch((err: unknown) => log.debug({ err }, 'could not ask the agent to stop'));
    if (await settlesWithin(running.ended, settings.options.grace_ms)) return;
    log.info({}, 'the agent does not end a cancelled turn: its process is replaced');
    this.#retire();
    if (this.#users === 0) await this.stop();
  }

  /** Asks the agent to close the session where it supports that; otherwise only this side forgets it. */
  async closeSession(sessionId: string): Promise<void> {
    this.#sessions.delete(sessionId);
    await this.#terminals.end(sessionId);
    if (this.#agent?.agentCapabilities?.sessionCapabilities?.close == null || !this.isOpen) return;
    await this.#request(AGENT.session.close, { sessionId }).catch((err: unknown) => {
      this.#options.log.debug({ err }, 'the agent did not close a session');
    });
  }

  async stop(error?: FabricError): Promise<void> {
    this.close();
    this.#rpc.close(error ?? failure('process_ended'));
    await this.gone;
  }

  protected override close(): void {
    clearTimeout(this.#idle);
    super.close();
  }

  async #end(): Promise<void> {
    this.close();
    await Promise.all([this.#terminals.end(), this.child.stop()]);
  }

  async #initialize(): Promise<InitializeResponse> {
    const { start_timeout_ms: ms, auth_method: methodId } = this.#options.settings.options;
    using deadline = deadlineSignal({ ms, reason: () => failure('start_timeout', { limit: ms }) });
    const { signal } = deadline;
    const answer = this.#request(AGENT.initialize, this.#introduction());
    const agent = assertShape('initialized', await orAborted(answer, signal));
    const { protocolVersion: version } = agent;
    if (version !== PROTOCOL_VERSION) {
      throw failure('protocol_version', { version, spoken: PROTOCOL_VERSION });
    }
    if (methodId) await orAborted(this.#request(AGENT.authenticate, { methodId }), signal);
    this.#agent = agent;
    return agent;
  }

  #introduction() {
    const { terminal } = this.#options.settings.options;
    return {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'starloom', version: '0.1.0' },
      clientCapabilities: {
        fs: this.#files.capabilities,
        terminal,
        elicitation: { form: {}, url: {} },
      },
    };
  }

  async #prepare(sessionId: string, signal: AbortSignal): Promise<void> {
    const { mode: modeId, config = {} } = this.#options.settings.options;
    const { setMode, setConfigOption } = AGENT.session;
    if (modeId) await orAborted(this.#request(setMode, { sessionId, modeId }), signal);
    for (const [configId, value] of Object.entries(config)) {
      const chosen = typeof value === 'boolean' ? { type: 'boolean' as const, value } : { value };
      const request = { sessionId, configId, ...chosen };
      await orAborted(this.#request(setConfigOption, request), signal);
    }
  }

  async #resume(sessionId: string): Promise<EditorSession> {
    const { sessionCapabilities } = this.#agent?.agentCapabilities ?? {};
    const { resume, load } = AGENT.session;
    const request = { sessionId, cwd: this.#options.settings.cwd, mcpServers: [] };
    try {
      await this.#request(sessionCapabilities?.resume == null ? load : resume, request);
      return this.#add(sessionId);
    } finally {
      this.#resuming.delete(sessionId);
    }
  }

  #add(sessionId: string): EditorSession {
    const session = new EditorSession(sessionId);
    this.#sessions.set(sessionId, session);
    const { sessions: limit } = this.#options.settings.options;
    const idle = [...this.#sessions.values()].filter((each) => each.isIdle && each !== session);
    for (const { id } of idle.slice(0, Math.max(0, idle.length - limit + 1))) {
      void this.closeSession(id);
    }
    return session;
  }

  async #onUpdate(params: unknown, bytes: number): Promise<void> {
    const { sessionId, update } = toFields(params);
    const turn = this.#sessions.get(String(sessionId))?.running?.turn;
    if (!turn) return;
    turn.takeUpdate(update, bytes);
    await turn.events.room();
  }

  /** Which logins the agent offers, for people who have to choose one. */
  #withLogins(error: FabricError): FabricError {
    if (error.code !== 'AUTH_DENIED') return error;
    const methods = this.#agent?.authMethods ?? [];
    return error.with({ auth_methods: methods.slice(0, 20).map(({ id }) => cleanText(id, 100)) });
  }

  /** Ends the process when no call comes, unless a conversation would be lost with it. */
  #rest(): void {
    const { idle_ms } = this.#options.settings.options;
    this.#idle = setTimeout(() => {
      if (!this.canResume && this.#sessions.size > 0) return;
      this.#retire();
      void this.stop();
    }, idle_ms).unref();
  }

  /** Counts as served, so that the next process starts without a pause. */
  #retire(): void {
    this.served += 1;
    this.close();
  }

  #request<Method extends AgentRequestMethod>(
    method: Method,
    params: AgentRequestParamsByMethod[Method],
  ): Promise<AgentRequestResponsesByMethod[Method]> {
    return this.#rpc.agent.request(method, params).catch((error: unknown) => {
      throw toFailure(error, this.#options.excerpt);
    });
  }
}
