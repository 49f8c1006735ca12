// The processes of one agent. A conversation goes to the process that holds it; everything else to
// the one with the fewest calls.

import type { Clock } from '@starloom/core';
import { SharedProcess } from '../upstream/shared-process.ts';
import type { AgentClientConnection } from './agent-connection.ts';
import type { SessionHandle } from './handle.ts';

export class ProcessPool {
  readonly #slots: readonly SharedProcess<AgentClientConnection>[];

  constructor(start: () => Promise<AgentClientConnection>, processes: number, clock: Clock) {
    this.#slots = Array.from({ length: processes }, () => new SharedProcess(start, clock));
  }

  /** One that takes sessions now. */
  get ready(): AgentClientConnection | undefined {
    return this.#running.find(({ agent }) => agent !== undefined);
  }

  /** Whether none is started for now, because they keep dying. */
  get isBackingOff(): boolean {
    return this.#slots.every(({ running, backoffMs }) => !running && backoffMs > 0);
  }

  /** Rejects with AGENT_OFFLINE, nothing having been sent. */
  async acquire(handle?: SessionHandle): Promise<AgentClientConnection> {
    const holder = handle && this.#running.find((process) => process.holds(handle));
    if (holder) return holder;
    const [slot] = this.#slots.toSorted((one, other) => loadOf(one) - loadOf(other));
    if (slot === undefined) throw new Error('a pool has at least one process');
    return slot.acquire();
  }

  get #running(): readonly AgentClientConnection[] {
    return this.#slots.flatMap(({ running }) => running ?? []);
  }
}

function loadOf({ running }: SharedProcess<AgentClientConnection>): number {
  return running?.users ?? 0;
}
