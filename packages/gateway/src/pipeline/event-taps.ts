// Lets people look at the events of a trace while its calls run. Nothing is kept: an event goes to those who
// look at that moment, and costs a look into an empty map where no person does.

import type { EventBody, FabricEvent, Trace } from '@starloom/core';

export interface TappedEvent {
  readonly trace: Trace;
  /** Whose call it is of. */
  readonly principalId: string;
  readonly event: Omit<FabricEvent, 'trace' | 'seq'>;
}

type Listener = (tapped: TappedEvent) => void;

export class EventTaps {
  /** Who looks at which trace; empty nearly always, and asked before each event. */
  readonly open = new Map<string, Set<Listener>>();

  /** Returns how to stop. */
  tap(traceId: string, listener: Listener): () => void {
    const listeners = this.open.get(traceId) ?? new Set();
    this.open.set(traceId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.open.delete(traceId);
    };
  }

  send(trace: Trace, principalId: string, body: EventBody, agent_id: string): void {
    const listeners = this.open.get(trace.trace_id);
    if (!listeners) return;
    const event = { ...body, at: new Date().toISOString(), agent_id };
    for (const listener of [...listeners]) listener({ trace, principalId, event });
  }
}
