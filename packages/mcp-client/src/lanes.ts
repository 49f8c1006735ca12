// The connections to one agent. All calls share the main one. An agent that asks questions over a
// pipe does not say which call a question belongs to. So a connection on which a question is open
// gets no other call, and once a question was in doubt, each call gets a connection of its own, up to
// a number. Further calls wait for one; a question that keeps them waiting is taken back.

import { FabricError, orAborted } from '@starloom/core';
import type { McpConnection } from './connection.ts';
import { failure } from './reasons.ts';
import type { SharedConnection } from './shared-connection.ts';
import type { ToolCatalog } from './tool-catalog.ts';

/** A connection with its list of tools. */
export interface Lane {
  readonly shared: SharedConnection;
  readonly catalog: ToolCatalog;
}

export interface LaneLease {
  readonly lane: Lane;
  /** After the call; a connection that is shared needs none. */
  readonly release?: () => void;
}

interface LaneQuestion extends Disposable {
  /** Aborts when another call needs the connection. */
  readonly signal: AbortSignal;
}

interface OpenQuestion {
  readonly lane: Lane;
  readonly principal: string | undefined;
  readonly control: AbortController;
}

const MAX_LANES = 16;
/** How long a call waits before it takes a connection from a question that is open. */
const PATIENCE_MS = 2_000;

export class Lanes {
  readonly main: Lane;
  /** Of the main connection, whatever happens on it. */
  readonly mainLease: LaneLease;
  /** The same while calls may share it: read on every call. */
  sharedLease: LaneLease | undefined;
  readonly #open: () => Lane;
  readonly #all: Lane[];
  readonly #idle: Lane[] = [];
  readonly #waiting: PromiseWithResolvers<Lane>[] = [];
  /** Oldest first. */
  readonly #questions = new Set<OpenQuestion>();
  readonly #patienceMs: number;
  #isExclusive = false;

  constructor(open: () => Lane, patienceMs = PATIENCE_MS) {
    this.#open = open;
    this.#patienceMs = patienceMs;
    this.main = open();
    this.mainLease = { lane: this.main };
    this.sharedLease = this.mainLease;
    this.#all = [this.main];
  }

  /** New calls get connections of their own; running calls stay on theirs. */
  separate(): void {
    this.#isExclusive = true;
    this.sharedLease = undefined;
  }

  /** Marks the connection as waiting for an answer of this principal, until it is disposed. */
  ask(lane: Lane, principal: string | undefined): LaneQuestion {
    const question = { lane, principal, control: new AbortController() };
    this.#questions.add(question);
    if (lane === this.main) this.sharedLease = undefined;
    return {
      signal: question.control.signal,
      [Symbol.dispose]: () => {
        this.#questions.delete(question);
        if (!this.#isExclusive && !this.#isAsking(this.main)) this.sharedLease = this.mainLease;
      },
    };
  }

  /** A connection for one call alone. */
  async acquire(signal: AbortSignal): Promise<LaneLease> {
    const lane = this.#free() ?? (await this.#next(signal));
    return { lane, release: () => this.#release(lane) };
  }

  async close(): Promise<void> {
    const closed = failure('closed', { sent: false });
    for (const waiting of this.#waiting.splice(0)) waiting.reject(closed);
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
    const timer = setInterval(() => this.#takeBack(), this.#patienceMs).unref();
    try {
      return await orAborted(waiting.promise, signal);
    } catch (error) {
      const at = this.#waiting.indexOf(waiting);
      if (at !== -1) this.#waiting.splice(at, 1);
      else void waiting.promise.then((lane) => this.#release(lane));
      throw FabricError.from(error).with({ sent: false });
    } finally {
      clearInterval(timer);
    }
  }

  #isAsking(lane: Lane): boolean {
    for (const question of this.#questions) if (question.lane === lane) return true;
    return false;
  }

  /** The oldest question of the principal that holds the most connections by questions. */
  #takeBack(): void {
    const held = [...this.#questions].filter(({ lane }) => lane !== this.main);
    const byPrincipal = [...Map.groupBy(held, ({ principal }) => principal).values()];
    const [most] = byPrincipal.sort((a, b) => b.length - a.length);
    const oldest = most?.[0];
    if (!oldest) return;
    this.#questions.delete(oldest);
    oldest.control.abort();
  }

  /** After a cancelled call, its late questions could reach the next call: the connection is replaced. */
  #release(lane: Lane): void {
    const { current } = lane.shared;
    if (current?.isDoubtful) lane.shared.replace(current);
    const next = this.#waiting.shift();
    if (next) next.resolve(lane);
    else this.#idle.push(lane);
  }
}

/**
 * Puts right what the agent knew of us, or we of it. False for other failures, and for those that the agent
 * reports of its own agents.
 */
export async function putRight(
  { shared, catalog }: Lane,
  connection: McpConnection,
  { details }: FabricError,
  signal: AbortSignal,
): Promise<boolean> {
  if (details.upstream !== undefined) return false;
  switch (details.reason) {
    case 'unsupported_version':
      shared.forgetEra();
      shared.replace(connection);
      return true;
    case 'unknown_session':
      shared.replace(connection);
      return true;
    case 'header_mismatch':
      catalog.invalidate();
      await catalog.all(connection, signal).catch(throwUnsent);
      return true;
    default:
      return false;
  }
}

export function throwUnsent(error: unknown): never {
  throw FabricError.from(error).with({ sent: false });
}
