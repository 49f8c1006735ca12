// Agents made for editors: programs that speak the Agent Client Protocol. The gateway is their client.
// One session per conversation; processes are shared, and replaced when they die.

import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  assertWanted,
  type CallContext,
  type Capability,
  type Clock,
  capabilitySchema,
  type Envelope,
  type EventBody,
  FabricError,
  findCapability,
  type Health,
  type Log,
  type Manifest,
  orAborted,
  systemClock,
} from '@starloom/core';
import { cleanText, type Excerpt } from '@starloom/wire';
import { assertCallable, closedError } from '../upstream/call.ts';
import { agentExcerpt } from '../upstream/endpoint.ts';
import { describeIsolation } from '../upstream/isolation.ts';
import { programHealth } from '../upstream/program.ts';
import { SharedProcess } from '../upstream/shared-process.ts';
import { AgentClientConnection } from './agent-connection.ts';
import { type OpenTurn, openTurn } from './open-turn.ts';
import { parseHandle, type SessionHandle } from './sessions.ts';
import { parseSettings, type Settings } from './settings.ts';

interface AgentClientProtocolAdapterOptions extends AdapterOptions {
  readonly clock?: Clock;
}

/** What an agent serves when its manifest does not say. */
const PROMPT = {
  name: 'prompt',
  streaming: true,
  description: 'Gives the agent a task in words, as an editor does.',
  input_schema: {
    type: 'object',
    properties: { prompt: { type: 'string', description: 'What the agent should do' } },
    required: ['prompt'],
  },
  timeout_ms: 600_000,
};

export function createAgentClientProtocolAdapter(
  options: AgentClientProtocolAdapterOptions,
): Adapter {
  return new AgentClientProtocolAdapter(options);
}

class AgentClientProtocolAdapter implements Adapter {
  /** With what it serves. */
  readonly #manifest: Manifest & { readonly capabilities: readonly Capability[] };
  readonly #isDeclared: boolean;
  readonly #settings: Settings;
  readonly #excerpt: Excerpt;
  readonly #log: Log;
  readonly #pool: ProcessPool;
  readonly #alive = new Set<AgentClientConnection>();
  #closed = false;

  constructor({ manifest, log, clock = systemClock }: AgentClientProtocolAdapterOptions) {
    const capabilities = manifest.capabilities ?? [capabilitySchema.parse(PROMPT)];
    this.#manifest = { ...manifest, capabilities };
    this.#isDeclared = manifest.capabilities !== undefined;
    this.#settings = parseSettings(manifest);
    this.#excerpt = agentExcerpt(manifest);
    this.#log = log.child({ agent_id: manifest.agent_id });
    const { processes } = this.#settings.options;
    this.#pool = new ProcessPool(() => this.#start(), processes, clock);
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { signal } = context;
    assertWanted(signal);
    const { turn, leave } = await this.#open(envelope, context);
    const onAbort = () => {
      turn.events.abort(FabricError.from(signal.reason));
      leave();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      assertWanted(signal);
      yield* turn.events;
    } finally {
      signal.removeEventListener('abort', onAbort);
      leave();
    }
  }

  async health({ log }: CallContext): Promise<Health> {
    const { start, isolation } = this.#settings;
    return programHealth({
      start,
      isolation,
      isClosed: this.#closed,
      isRunning: this.#pool.ready !== undefined,
      isBackingOff: this.#pool.isBackingOff,
      log,
    });
  }

  /** Starts the agent only when the manifest does not say what it serves. */
  async describe({ signal }: CallContext): Promise<AgentDescription> {
    const { agent_id, capabilities, version } = this.#manifest;
    try {
      if (!this.#isDeclared) await this.#meet(signal);
      const info = this.#pool.ready?.agent?.agentInfo;
      const title = cleanText(info?.title ?? info?.name, 200);
      const description = this.#manifest.description ?? title;
      return {
        version: cleanText(info?.version, 100) || version,
        ...(description && { description }),
        capabilities: await describeIsolation(capabilities, this.#settings.isolation),
      };
    } catch (error) {
      throw FabricError.from(error).with({ agent_id });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const error = closedError(this.#manifest);
    await Promise.all([...this.#alive].map((connection) => connection.stop(error)));
  }

  async #open(envelope: Envelope, context: CallContext): Promise<OpenTurn> {
    const names = assertCallable(this.#manifest, envelope);
    const capability = findCapability(this.#manifest, names.capability) as Capability;
    const { options } = this.#settings;
    const excerpt = this.#excerpt;
    try {
      const handle = context.handle && parseHandle(context.handle);
      const connection = await orAborted(this.#pool.acquire(handle), context.signal);
      const asked = { envelope, context, capability, names, handle, options, excerpt };
      return await openTurn(connection, asked);
    } catch (error) {
      throw FabricError.from(error).with({ ...names, sent: false });
    }
  }

  async #meet(signal: AbortSignal): Promise<void> {
    const connection = await orAborted(this.#pool.acquire(), signal);
    connection.enter();
    try {
      await orAborted(connection.ready, signal);
    } finally {
      connection.leave();
    }
  }

  async #start(): Promise<AgentClientConnection> {
    if (this.#closed) throw closedError(this.#manifest);
    const connection = await AgentClientConnection.start({
      settings: this.#settings,
      excerpt: this.#excerpt,
      log: this.#log,
    });
    this.#alive.add(connection);
    void connection.gone.then(() => this.#alive.delete(connection));
    if (this.#closed) await connection.stop(closedError(this.#manifest));
    return connection;
  }
}

/**
 * The processes of one agent. A conversation goes to the process that holds it; everything else to
 * the one with the fewest calls.
 */
class ProcessPool {
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
