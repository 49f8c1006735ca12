// The connections to one agent. All calls share the main one. An agent that asks questions over a
// pipe does not say which call a question belongs to: once that was in doubt, each call gets a
// connection of its own, up to a number, and further calls wait for one.

import { FabricError, orAborted } from '@starloom/core';
import type { Requests } from './requests.ts';
import type { SharedConnection } from './shared-connection.ts';
import type { ToolCatalog } from './tool-catalog.ts';

/** A connection, and what is known by way of it. */
export interface Lane {
  readonly shared: SharedConnection;
  readonly catalog: ToolCatalog;
  readonly requests: Requests;
}

export interface LaneLease extends Disposable {
  readonly lane: Lane;
}

const MAX_LANES = 8;

export class Lanes {
  readonly main: Lane;
  readonly #open: () => Lane;
  readonly #all: Lane[];
  readonly #idle: Lane[] = [];
  readonly #waiting: PromiseWithResolvers<Lane>[] = [];
  #isExclusive = false;

  constructor(open: () => Lane) {
    this.#open = open;
    this.main = open();
    this.#all = [this.main];
  }

  /** From now on calls do not share a connection. Those that run go on where they are. */
  separate(): void {
    this.#isExclusive = true;
  }

  /** The connection for one call. */
  async acquire(signal: AbortSignal): Promise<LaneLease> {
    if (!this.#isExclusive) return { lane: this.main, [Symbol.dispose]: () => {} };
    const lane = this.#free() ?? (await this.#next(signal));
    return { lane, [Symbol.dispose]: () => this.#release(lane) };
  }

  async close(): Promise<void> {
    const closed = new FabricError('AGENT_OFFLINE', 'The connection to the agent was closed');
    for (const waiting of this.#waiting.splice(0)) waiting.reject(closed.with({ sent: false }));
    await Promise.all(this.#all.map(({ shared }) => shared.close()));
  }

  /** The main one is left to what is not a call: lists, health, resources. */
  #free(): Lane | undefined {
    const idle = this.#idle.pop();
    if (idle || this.#all.length > MAX_LANES) return idle;
    const lane = this.#open();
    this.#all.push(lane);
    return lane;
  }

  async #next(signal: AbortSignal): Promise<Lane> {
    const waiting = Promise.withResolvers<Lane>();
    this.#waiting.push(waiting);
    try {
      return await orAborted(waiting.promise, signal);
    } catch (error) {
      const at = this.#waiting.indexOf(waiting);
      if (at !== -1) this.#waiting.splice(at, 1);
      else void waiting.promise.then((lane) => this.#release(lane));
      throw FabricError.from(error).with({ sent: false });
    }
  }

  /** A connection on which a call was given up on may bring its questions to the next one. */
  #release(lane: Lane): void {
    const { current } = lane.shared;
    if (current?.isDoubtful) lane.shared.replace(current);
    const next = this.#waiting.shift();
    if (next) next.resolve(lane);
    else this.#idle.push(lane);
  }
}
