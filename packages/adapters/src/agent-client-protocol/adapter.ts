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
  type Health,
  type Manifest,
  orAborted,
  systemClock,
} from '@starloom/core';
import { cleanText, type Excerpt } from '@starloom/wire';
import { assertCallable, failureOf, throwUnsent } from '../upstream/call.ts';
import { agentExcerpt } from '../upstream/endpoint.ts';
import { describeIsolation } from '../upstream/isolation.ts';
import { ProcessPool } from '../upstream/process-pool.ts';
import { AgentClientConnection } from './agent-connection.ts';
import { type OpenTurn, openTurn } from './open-turn.ts';
import { parseSettings, type Settings } from './options.ts';
import { parseHandle, type SessionHandle } from './sessions.ts';

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
  readonly #pool: ProcessPool<AgentClientConnection>;

  constructor(opened: AgentClientProtocolAdapterOptions) {
    const { manifest, clock = systemClock } = opened;
    const capabilities = manifest.capabilities ?? [capabilitySchema.parse(PROMPT)];
    const settings = parseSettings(manifest);
    const excerpt = agentExcerpt(manifest);
    const log = opened.log.child({ agent_id: manifest.agent_id });
    this.#manifest = { ...manifest, capabilities };
    this.#isDeclared = manifest.capabilities !== undefined;
    this.#settings = settings;
    this.#excerpt = excerpt;
    this.#pool = new ProcessPool({
      manifest,
      program: settings,
      shared: settings.options.processes,
      start: () => AgentClientConnection.start({ settings, excerpt, log }),
      log,
      clock,
    });
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    assertWanted(context.signal);
    const capability = assertCallable(this.#manifest, envelope);
    try {
      const { turn, leave } = await this.#open(envelope, context, capability).catch(throwUnsent);
      yield* turn.events.readUntil(context.signal, leave);
    } catch (error) {
      throw failureOf(error, this.#manifest, context, envelope);
    }
  }

  health({ log }: CallContext): Promise<Health> {
    return this.#pool.health(log);
  }

  /** Starts the agent only when the manifest does not say what it serves. */
  async describe(context: CallContext): Promise<AgentDescription> {
    const { agent_id, capabilities, version } = this.#manifest;
    try {
      if (!this.#isDeclared) await this.#meet(context);
      const info = this.#pool.running.find(({ agent }) => agent)?.agent?.agentInfo;
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

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #open(envelope: Envelope, context: CallContext, capability: Capability): Promise<OpenTurn> {
    const { options } = this.#settings;
    const excerpt = this.#excerpt;
    const handle = context.handle && parseHandle(context.handle);
    const connection = await orAborted(this.#acquire(context, handle), context.signal);
    return openTurn(connection, { envelope, context, capability, handle, options, excerpt });
  }

  /** A conversation goes to the process that holds it; everything else to the one with the fewest calls. */
  async #acquire({ log }: CallContext, handle?: SessionHandle): Promise<AgentClientConnection> {
    const holder = handle && this.#pool.running.find((process) => process.holds(handle));
    return holder ?? this.#pool.acquire(log);
  }

  async #meet(context: CallContext): Promise<void> {
    const { signal } = context;
    const connection = await orAborted(this.#acquire(context), signal);
    connection.enter();
    try {
      await orAborted(connection.ready, signal);
    } finally {
      connection.leave();
    }
  }
}
