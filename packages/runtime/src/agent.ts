// An agent as its faces see it: a terminal, an editor, other agents. Turns of one session come one
// after the other, those of different sessions side by side; closing it cancels what runs and leaves
// nothing behind.

import { createTrace, FabricError, ROOT_HOP } from '@starloom/core';
import type { Block, ContentSegment, ITool } from '@starloom/sdk';
import { holdProcess } from '@starloom/wire';
import type { AgentConfig } from './config/index.ts';
import { createEmit, type Emit, type EventBus } from './core/event-bus.ts';
import { type LoopParts, runTurn, type Turn, type TurnOutcome } from './core/loop.ts';
import type { AgentFace, InboundCall, ToolOutcome, TurnOptions, TurnResult } from './core/seams.ts';
import type { AgentSession } from './core/session.ts';
import type { AgentSessions, SessionSummary } from './core/sessions.ts';
import { parseSlashCommand, type SlashCommand } from './core/slash-commands.ts';
import type { AgentGuard } from './guard.ts';

export interface AgentParts extends LoopParts {
  readonly config: AgentConfig;
  readonly bus: EventBus;
  readonly guard: AgentGuard;
  readonly sessions: AgentSessions;
  /** Throws when the configuration names tools that do not exist. */
  readonly checkNames: () => void;
  /** Whatever must be let go of at the end, in this order. */
  readonly closers: readonly (() => Promise<unknown>)[];
}

/** The session of calls that belong to none. */
const NO_SESSION = 'inbound';

export class Agent implements AgentFace, AsyncDisposable {
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
    const segments = toSegments(input);
    const { clock, sessions } = this.#parts;
    const { sessionId = sessions.create(), trace = createTrace(), hop = ROOT_HOP } = options;
    const emit = createEmit(this.bus, { sessionId, trace, clock, onEvent: options.onEvent });
    using running = this.#running.start(options.signal);
    using _ = options.hop === undefined ? this.guard.enter({ trace, hop }) : undefined;
    const { signal } = running;
    try {
      const outcome = await sessions.use(sessionId, signal, async (session) => {
        try {
          const { mandate } = options;
          const turn = { session, trace, hop, mandate, signal, emit };
          return await this.#serve(turn, segments, options);
        } finally {
          this.#save(session, emit);
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

  tools(): ReadonlyMap<string, ITool> {
    return this.#parts.registry.tools;
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#parts.registry.onChange(listener);
  }

  /** Those on disk, the newest first. */
  sessions(): Promise<SessionSummary[]> {
    return this.#parts.sessions.list();
  }

  /** What a session holds now, for a client that shows it again. */
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
    { origin = 'user', source = 'agent:unknown' }: TurnOptions,
  ): Promise<TurnOutcome> {
    const { labeller, registry, checkNames } = this.#parts;
    await registry.ready(turn.signal);
    checkNames();
    if (origin === 'remote') {
      turn.emit('INPUT:MESSAGE', { segments, origin });
      return runTurn({ ...turn, request: labeller.ofRemote(segments, source) }, this.#parts);
    }
    const request = labeller.ofUser(segments, this.config.toml.security.user_trust);
    const text = wordsOf(segments);
    const command = text === undefined ? undefined : parseSlashCommand(text, registry.tools);
    if (command && text !== undefined) {
      turn.emit('INPUT:COMMAND', { text });
      return this.#command(command, { ...turn, request });
    }
    turn.emit('INPUT:MESSAGE', { segments, origin });
    return runTurn({ ...turn, request }, this.#parts);
  }

  /** The user's own call: on the same path as the model's, without asking the model. */
  async #command(command: SlashCommand, turn: Turn): Promise<TurnOutcome> {
    const { session, request, trace, hop, mandate, signal, emit } = turn;
    if (command.kind === 'help') return withoutModel([{ type: 'text', text: command.text }]);
    if (command.kind === 'problem') {
      throw new FabricError('BAD_INPUT', command.text, {
        details: { reason: 'command', fix: 'type /help for all commands' },
      });
    }
    const call = { id: crypto.randomUUID(), ...command.call };
    const { result, block, error } = await this.#parts.toolPath.call(
      {
        call,
        origin: 'user',
        sessionId: session.id,
        trace,
        hop,
        mandate,
        signal,
        blocks: [request],
      },
      emit,
    );
    session.add(request, block);
    if (error) throw error;
    return withoutModel(result.output);
  }

  #save(session: AgentSession, emit: Emit): void {
    try {
      session.assertSaved();
    } catch (cause) {
      const message = 'The session could not be saved; it goes on in memory';
      const error = cause instanceof Error && 'code' in cause ? cause.code : String(cause);
      this.#parts.log.warn({ session_id: session.id, error }, message);
      emit('SAFETY:WARNING', { reason: 'session_not_saved', message });
    }
  }

  async #close(): Promise<void> {
    await this.#running.stop(new FabricError('CANCELLED', 'The agent is closing'));
    for (const close of this.#parts.closers) {
      await close().catch((error) => this.#parts.log.warn({ error: String(error) }, 'not closed'));
    }
  }
}

function toSegments(input: string | readonly ContentSegment[]): readonly ContentSegment[] {
  const segments = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input;
  if (segments.some(({ text, data }) => text?.trim() || data)) return segments;
  throw new FabricError('BAD_INPUT', 'The message is empty', {
    details: { reason: 'empty_message', fix: 'say something, or type /help' },
  });
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
