// Everything an agent does is visible here. Listeners watch and nothing more: one that throws or
// rejects is logged, and neither the loop nor the other listeners notice.

import { type Clock, FabricError, type Log, type Trace } from '@starloom/core';
import type { AgentEvent, AgentEventName, AgentEventOf, AgentEvents } from './events.ts';

type Family = 'INPUT:*' | 'EXEC:*' | 'STREAM:*' | 'SAFETY:*';
type FamilyPrefix<Pattern extends Family> = Pattern extends `${infer Prefix}:*` ? Prefix : never;

/** A name, or a family of names such as `EXEC:*`. */
export type EventPattern = AgentEventName | Family;

export type EventMatching<Pattern extends EventPattern> = Pattern extends AgentEventName
  ? AgentEventOf<Pattern>
  : Pattern extends Family
    ? Extract<AgentEvent, { type: `${FamilyPrefix<Pattern>}:${string}` }>
    : never;

type Listener = (event: never) => unknown;

export class EventBus {
  readonly #log: Log;
  readonly #listeners = new Map<EventPattern | '*', Set<Listener>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Returns how to stop listening; so do `once` and `onAny`. */
  on<Pattern extends EventPattern>(
    pattern: Pattern,
    listener: (event: EventMatching<Pattern>) => unknown,
  ): () => void {
    return this.#add(pattern, listener);
  }

  once<Pattern extends EventPattern>(
    pattern: Pattern,
    listener: (event: EventMatching<Pattern>) => unknown,
  ): () => void {
    const stop = this.#add(pattern, (event: EventMatching<Pattern>) => {
      stop();
      return listener(event);
    });
    return stop;
  }

  onAny(listener: (event: AgentEvent) => unknown): () => void {
    return this.#add('*', listener);
  }

  emit(event: AgentEvent): void {
    if (this.#listeners.size === 0) return;
    const family = `${event.type.slice(0, event.type.indexOf(':'))}:*` as Family;
    for (const key of [event.type, family, '*'] as const) {
      for (const listener of this.#listeners.get(key) ?? []) this.tell(listener, event);
    }
  }

  /** Hands the event to one listener, whatever it does with it. */
  tell(listener: Listener, event: AgentEvent): void {
    try {
      const answer = listener(event as never);
      if (answer instanceof Promise) answer.catch((cause) => this.#report(event, cause));
    } catch (cause) {
      this.#report(event, cause);
    }
  }

  #add(key: EventPattern | '*', listener: Listener): () => void {
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
    if (onEvent) bus.tell(onEvent, event);
  };
}
