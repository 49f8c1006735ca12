// Everything an agent does is visible here. Listeners only watch: one that throws or rejects is logged,
// and affects neither the loop nor the other listeners.

import {
  type Clock,
  type ErrorCode,
  FabricError,
  type Hop,
  type Log,
  type Trace,
} from '@starloom/core';
import type { ContentSegment, ResponseMetadata, ToolCall, ToolResult } from '@starloom/sdk';
import type { Origin, PlannedStep, Verdict } from './seams.ts';

type Listener = (event: never) => unknown;

export class EventBus {
  readonly #log: Log;
  readonly #listeners = new Map<AgentEventName | '*', Set<Listener>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Returns how to stop listening; so does `onAny`. */
  on<Name extends AgentEventName>(
    name: Name,
    listener: (event: AgentEventOf<Name>) => unknown,
  ): () => void {
    return this.#add(name, listener);
  }

  onAny(listener: (event: AgentEvent) => unknown): () => void {
    return this.#add('*', listener);
  }

  emit(event: AgentEvent): void {
    if (this.#listeners.size === 0) return;
    for (const key of [event.type, '*'] as const) {
      for (const listener of this.#listeners.get(key) ?? []) this.notify(listener, event);
    }
  }

  /** Calls one listener; its failure is logged. */
  notify(listener: Listener, event: AgentEvent): void {
    try {
      const answer = listener(event as never);
      if (answer instanceof Promise) answer.catch((cause) => this.#report(event, cause));
    } catch (cause) {
      this.#report(event, cause);
    }
  }

  #add(key: AgentEventName | '*', listener: Listener): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners);
    const entry: Listener = (event) => listener(event);
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners)
        this.#listeners.delete(key);
    };
  }

  #report(event: AgentEvent, cause: unknown): void {
    const error = FabricError.is(cause) ? cause.code : String(cause);
    this.#log.warn({ event: event.type, error, ...event.trace }, 'a listener of the bus failed');
  }
}

/** Says what happens in one session on one trace. */
export type Emit = <Name extends AgentEventName>(type: Name, data: AgentEvents[Name]) => void;

export interface Scope {
  readonly sessionId: string;
  readonly trace: Trace;
  readonly clock: Clock;
  /** Receives each event as well, after the bus. */
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
}

export function createEmit(bus: EventBus, { sessionId, trace, clock, onEvent }: Scope): Emit {
  return (type, data) => {
    const event = { type, at: clock.now(), sessionId, trace, data } as AgentEvent;
    bus.emit(event);
    if (onEvent) bus.notify(onEvent, event);
  };
}

/** Who takes a task: a helper here or in a process of its own, an A2A agent, an agent of the gateway. */
export type DelegateKind = 'helper' | 'process' | 'peer' | 'gateway';

/** Everything that is visible on the bus, by name. */
export interface AgentEvents {
  /** A message for the model. */
  'INPUT:MESSAGE': { segments: readonly ContentSegment[]; origin: Origin };
  /** A slash command, as typed. */
  'INPUT:COMMAND': { text: string };

  'EXEC:STEP': { step: number };
  /** The model was asked, tries included; `code` when no answer came. */
  'EXEC:MODEL': {
    purpose: 'answer' | 'summary' | 'plan';
    ms: number;
    metadata?: ResponseMetadata;
    code?: ErrorCode;
  };
  'EXEC:TOOL_CALL': { call: Required<ToolCall>; origin: Origin; hop: Hop };
  'EXEC:TOOL_RESULT': {
    call: Required<ToolCall>;
    origin: Origin;
    result: ToolResult;
    ms: number;
    code?: ErrorCode;
    /** Of the call itself: what it calls out stands below. */
    span: Trace;
  };

  /** A tool changed a file; `before` is null for a new one. */
  'EXEC:EDITED': { call: string; path: string; before: string | null; after: string };
  /** A tool runs a program in a terminal of the editor. */
  'EXEC:TERMINAL': { call: string; terminal: string };

  /** A task goes to a helper or another agent; `call` is that of the tool. */
  'EXEC:DELEGATED': { call: string; to: string; kind: DelegateKind; hop: Hop; tools: string[] };
  /** What came of it, and what it cost as far as that is known. */
  'EXEC:RETURNED': {
    call: string;
    to: string;
    kind: DelegateKind;
    ms: number;
    steps?: number;
    usage?: Readonly<Record<string, unknown>>;
    code?: ErrorCode;
  };

  'STREAM:TEXT': { text: string };
  'STREAM:REASONING': { text: string };
  'STREAM:SEGMENT': { segment: ContentSegment };
  /** What the model said in this step is void: it is asked again. */
  'STREAM:DISCARD': { attempt: number; waitMs: number; code: ErrorCode };
  'STREAM:PROGRESS': { call: string; message: string; percent?: number };
  /** The model has answered; calls may follow. */
  'STREAM:STEP': { metadata: ResponseMetadata };
  /** The turn is over. */
  'STREAM:END': { segments: readonly ContentSegment[] };
  'STREAM:ERROR': { code: ErrorCode; message: string };

  'SAFETY:VERDICT': { call: Required<ToolCall>; origin: Origin; verdict: Verdict };
  /** A person is asked. */
  'SAFETY:APPROVAL': { call: Required<ToolCall>; verdict: Verdict };
  'SAFETY:APPROVED': { call: Required<ToolCall> };
  'SAFETY:DENIED': {
    call: Required<ToolCall>;
    rule: string;
    reasons: readonly string[];
    fix: string;
  };
  /** A call from outside was refused before anything of it ran. */
  'SAFETY:REFUSED': { tool: string; code: ErrorCode; message: string };
  /** The plan of the turn, now in force. */
  'SAFETY:PLAN': { steps: readonly PlannedStep[] };
  'SAFETY:WARNING': { reason: string; message: string };
  'SAFETY:BUDGET': { budget: string; limit: number; used: number };
  'SAFETY:HALT': { reason: string; message: string };
  'SAFETY:COMPACTED': { folded: number; kept: number };
}

export type AgentEventName = keyof AgentEvents;

export type AgentEventOf<Name extends AgentEventName> = {
  readonly type: Name;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly sessionId: string;
  readonly trace: Trace;
  readonly data: Readonly<AgentEvents[Name]>;
};

export type AgentEvent = { [Name in AgentEventName]: AgentEventOf<Name> }[AgentEventName];
