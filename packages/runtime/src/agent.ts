// An agent as its faces see it: a terminal, an editor, other agents. Turns of one session run one after
// the other, those of different sessions at the same time. Closing the agent cancels running turns.

import {
  type Closers,
  childTrace,
  createTrace,
  FabricError,
  ROOT_HOP,
  type Trace,
} from '@starloom/core';
import type { Block, ContentSegment, IProvider, ITool } from '@starloom/sdk';
import { holdProcess } from '@starloom/wire';
import type { AgentConfig } from './config/load-agent-config.ts';
import { withinBudget } from './core/budgets.ts';
import { createEmit, type Emit, type EventBus } from './core/event-bus.ts';
import { mayCall, type ToolCaller } from './core/exposure.ts';
import { type LoopParts, runTurn, type Turn, type TurnOutcome } from './core/loop.ts';
import type { InboundCall, ToolOutcome, TurnOptions, TurnResult } from './core/seams.ts';
import type { AgentSession } from './core/session.ts';
import type { AgentSessions, SessionSummary } from './core/sessions.ts';
import { parseSlashCommand, type SlashCommand } from './core/slash-commands.ts';
import type { ToolRegistry } from './core/tool-registry.ts';
import type { AgentGuard } from './guard.ts';
import { failure } from './reasons.ts';

export interface AgentParts extends LoopParts {
  readonly registry: ToolRegistry;
  readonly models: ReadonlyMap<string, IProvider>;
  readonly reading: () => ReadonlySet<string>;
  readonly config: AgentConfig;
  readonly bus: EventBus;
  readonly guard: AgentGuard;
  readonly sessions: AgentSessions;
  /** Throws when the configuration names tools that do not exist. */
  readonly checkNames: () => void;
  readonly closers: Closers;
}

/** The session of calls that belong to none. */
const NO_SESSION = 'inbound';

export class Agent implements AsyncDisposable {
  readonly name: string;
  readonly version: string;
  /** Secrets in it show their reference only. */
  readonly config: AgentConfig;
  readonly bus: EventBus;
  /** Every incoming call of every protocol passes it first. */
  readonly guard: AgentGuard;
  readonly #parts: AgentParts;
  readonly #running = new RunningTurns();
  #closing: Promise<void> | undefined;

  constructor(parts: AgentParts) {
    this.name = parts.config.agent.name;
    this.version = parts.config.agent.version;
    this.config = parts.config;
    this.bus = parts.bus;
    this.guard = parts.guard;
    this.#parts = parts;
  }

  /** Answers a message, or runs a slash command. What goes wrong is a FabricError. */
  async turn(
    input: string | readonly ContentSegment[],
    options: TurnOptions = {},
  ): Promise<TurnResult> {
    const segments = toSegments(input, (options.attachments ?? []).length > 0);
    const { clock, sessions } = this.#parts;
    const { sessionId = sessions.create(), trace = createTrace(), hop = ROOT_HOP } = options;
    const emit = createEmit(this.bus, { sessionId, trace, clock, onEvent: options.onEvent });
    using running = this.#running.start(options.signal);
    using _ = options.hop === undefined ? this.guard.enter({ trace, hop }) : undefined;
    const { signal } = running;
    try {
      const outcome = await sessions.use(sessionId, signal, async (session) => {
        try {
          const { mandate, task } = options;
          const turn = { session, trace, hop, mandate, task, signal, emit };
          return await this.#serve(turn, segments, options);
        } finally {
          this.#save(session, trace, emit);
        }
      });
      emit('STREAM:END', { segments: outcome.segments });
      return { ...outcome, trace, sessionId };
    } catch (thrown) {
      const error = FabricError.from(thrown);
      emit('STREAM:ERROR', { code: error.code, message: error.message });
      throw error;
    }
  }

  /** Never throws for a call that went wrong: that is an outcome. */
  async callTool(inbound: InboundCall): Promise<ToolOutcome> {
    const { origin, trace, hop, mandate, onEvent, sessionId = NO_SESSION } = inbound;
    const { clock, toolPath } = this.#parts;
    const emit = createEmit(this.bus, { sessionId, trace, clock, onEvent });
    using running = this.#running.start(inbound.signal);
    const { signal } = running;
    const call = { id: crypto.randomUUID(), ...inbound.call };
    const request = { call, origin, sessionId, trace, hop, mandate, signal, blocks: [] };
    return await toolPath.call(request, emit);
  }

  /** The names by which a turn may choose a model, the usual one first. */
  models(): readonly string[] {
    return [this.#parts.provider.name, ...this.#parts.models.keys()];
  }

  /** What all of its models take beside words. */
  takes(): ReadonlySet<'image' | 'audio'> {
    const [usual, ...others] = [this.#parts.provider, ...this.#parts.models.values()];
    const isTaken = (kind: 'image' | 'audio') => others.every(({ takes }) => takes?.includes(kind));
    return new Set((usual?.takes ?? []).filter(isTaken));
  }

  tools(): ReadonlyMap<string, ITool> {
    return this.#parts.registry.tools;
  }

  toolsFor(caller: ToolCaller = 'operator'): ReadonlyMap<string, ITool> {
    const { mcp } = this.config.agent;
    const tools = [...this.tools()].filter(([name]) => mayCall(mcp, caller, name));
    return new Map(tools);
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#parts.registry.onChange(listener);
  }

  /** The sessions on disk, the newest first. */
  sessions(): Promise<SessionSummary[]> {
    return this.#parts.sessions.list();
  }

  /** The blocks of a session, for a client that shows them again. */
  async history(sessionId: string): Promise<readonly Block[]> {
    using running = this.#running.start(undefined);
    return await this.#parts.sessions.use(sessionId, running.signal, async ({ blocks }) => blocks);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #serve(
    turn: Omit<Turn, 'request'>,
    segments: readonly ContentSegment[],
    options: TurnOptions,
  ): Promise<TurnOutcome> {
    const { origin = 'user', source = 'agent:unknown', attachments = [], caller } = options;
    const { labeller, registry, checkNames } = this.#parts;
    await registry.ready(turn.signal);
    checkNames();
    const parts = {
      ...this.#parts,
      provider: this.#providerOf(options.model),
      limits: withinBudget(this.#parts.limits, options.budget),
    };
    const allowed = options.readOnly ? this.#parts.reading() : undefined;
    if (origin === 'remote') {
      turn.emit('INPUT:MESSAGE', { segments, origin });
      return runTurn({ ...turn, allowed, request: labeller.ofRemote(segments, source) }, parts);
    }
    const request = labeller.ofUser(segments, this.config.toml.security.user_trust);
    const text = wordsOf(segments);
    const command = text === undefined ? undefined : parseSlashCommand(text, this.toolsFor(caller));
    if (command && text !== undefined) {
      turn.emit('INPUT:COMMAND', { text });
      return this.#command(command, { ...turn, request }, caller);
    }
    turn.emit('INPUT:MESSAGE', { segments, origin });
    for (const one of attachments) turn.session.add(labeller.ofRemote(one.segments, one.source));
    return runTurn({ ...turn, allowed, request }, parts);
  }

  #providerOf(model: string | undefined): IProvider {
    const { provider, models } = this.#parts;
    if (model === undefined || model === provider.name) return provider;
    const chosen = models.get(model);
    if (chosen) return chosen;
    throw failure('no_such_model', { model, models: this.models().join(', ') });
  }

  /** The user's own call: on the same path as the model's, without asking the model. */
  async #command(
    command: SlashCommand,
    turn: Turn,
    caller: ToolCaller | undefined,
  ): Promise<TurnOutcome> {
    const { session, request, trace, hop, mandate, signal, emit } = turn;
    if (command.kind === 'help') return withoutModel([{ type: 'text', text: command.text }]);
    if (command.kind === 'problem') throw failure('command', { problem: command.text });
    const asked = {
      call: { id: crypto.randomUUID(), ...command.call },
      origin: 'user' as const,
      sessionId: session.id,
      trace: childTrace(trace),
      blocks: [request],
      ...{ caller, hop, mandate, signal },
    };
    const { result, block, error } = await this.#parts.toolPath.call(asked, emit);
    session.add(request, block);
    if (error) throw error;
    return withoutModel(result.output);
  }

  #save(session: AgentSession, { trace_id, span_id }: Trace, emit: Emit): void {
    try {
      session.assertSaved();
    } catch (cause) {
      const message = 'The session could not be saved; it goes on in memory';
      const error = cause instanceof Error && 'code' in cause ? cause.code : String(cause);
      const fields = { trace_id, span_id, session_id: session.id, error };
      this.#parts.log.warn(fields, message);
      emit('SAFETY:WARNING', { reason: 'session_not_saved', message });
    }
  }

  async #close(): Promise<void> {
    await this.#running.stop(failure('closing'));
    const { closers, log } = this.#parts;
    await closers.close((error) => log.warn({ error: String(error) }, 'not closed'));
  }
}

/** A message may be its attachments alone. */
function toSegments(input: string | readonly ContentSegment[], isAttached: boolean) {
  const isBlank = typeof input === 'string' ? input.trim() === '' : input.length === 0;
  const given = isAttached && isBlank ? 'See what is attached.' : input;
  const segments = typeof given === 'string' ? [{ type: 'text' as const, text: given }] : given;
  if (segments.some(({ text, data }) => text?.trim() || data)) return segments;
  throw failure('empty_message');
}

/** The text of a message that is nothing else. */
function wordsOf(segments: readonly ContentSegment[]): string | undefined {
  const [only, ...others] = segments;
  return others.length === 0 && only?.type === 'text' ? only.text : undefined;
}

function withoutModel(segments: readonly ContentSegment[]): TurnOutcome {
  return { segments, steps: 0, usage: { inputTokens: 0, outputTokens: 0 } };
}

/**
 * The turns that run now, so that all can be stopped at once. While there is one the process stays:
 * neither a silent model nor a deadline would keep it.
 */
class RunningTurns {
  readonly #controllers = new Set<AbortController>();
  #idle = Promise.withResolvers<void>();
  #reason: unknown;
  #hold: Disposable | undefined;

  /** A signal that aborts with `parent`, or when everything is stopped. Dispose of it at the end. */
  start(parent: AbortSignal | undefined): { readonly signal: AbortSignal } & Disposable {
    const controller = new AbortController();
    const follow = () => controller.abort(parent?.reason);
    if (parent?.aborted) follow();
    else parent?.addEventListener('abort', follow, { once: true });
    if (this.#reason !== undefined) controller.abort(this.#reason);
    this.#hold ??= holdProcess();
    this.#controllers.add(controller);
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        parent?.removeEventListener('abort', follow);
        this.#controllers.delete(controller);
        if (this.#controllers.size === 0) this.#end();
      },
    };
  }

  /** Aborts what runs and what is still to come; resolves when nothing runs any more. */
  async stop(reason: unknown): Promise<void> {
    this.#reason = reason;
    if (this.#controllers.size === 0) return;
    this.#idle = Promise.withResolvers();
    for (const controller of this.#controllers) controller.abort(reason);
    await this.#idle.promise;
  }

  #end(): void {
    this.#hold?.[Symbol.dispose]();
    this.#hold = undefined;
    this.#idle.resolve();
  }
}
