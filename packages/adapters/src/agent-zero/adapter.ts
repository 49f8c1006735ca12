// Agent Zero, by whichever of its interfaces is configured, or the first of MCP, HTTP and A2A that
// it serves. All of them are at one address and take one token. Remote function calls are used only
// where the manifest says so.

import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  assertWanted,
  type CallContext,
  type Capability,
  capabilitySchema,
  type Envelope,
  type EventBody,
  FabricError,
  type Health,
  isLoopback,
  type Manifest,
  TASK_SCHEMA,
} from '@starloom/core';
import { HttpClient } from '../http/http-client.ts';
import type { Target } from '../http/target.ts';
import { failure } from '../reasons.ts';
import { assertCallable, type CallNames } from '../upstream/call.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { A2aLane } from './a2a-lane.ts';
import { HttpLane } from './http-lane.ts';
import { type AgentZeroLane, LaneChoice } from './lane.ts';
import { openMcpLane } from './mcp-lane.ts';
import { type AgentZeroOptions, agentZeroOptionsSchema, type LaneName } from './options.ts';
import { RfcLane } from './rfc-lane.ts';

const ASK = {
  name: 'ask',
  description: 'Agent Zero works on a task in its own Linux system: code, files, the web',
  input_schema: TASK_SCHEMA,
  timeout_ms: 600_000,
  // It runs commands, and does not say which before it is done.
  idempotent: false,
};

/** An interface that was turned off, perhaps for another one. */
const NOT_SERVED: ReadonlySet<string> = new Set(['AUTH_DENIED', 'CAPABILITY_NOT_FOUND']);

export function createAgentZeroAdapter(options: AdapterOptions): Adapter {
  return new AgentZeroAdapter(options);
}

class AgentZeroAdapter implements Adapter {
  readonly #manifest: Manifest;
  readonly #options: AgentZeroOptions;
  readonly #client: HttpClient;
  readonly #lanes: LaneChoice;

  constructor(opened: AdapterOptions) {
    const { manifest } = opened;
    this.#manifest = manifest;
    this.#options = parseOptions(agentZeroOptionsSchema, manifest);
    this.#client = new HttpClient(manifest, this.#options);
    const place = toPlace(manifest, this.#client.target);
    const openers = this.#openers(opened, place);
    const { lane } = this.#options;
    this.#lanes = new LaneChoice(openers, lane === 'auto' ? ['mcp', 'http', 'a2a'] : [lane]);
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    assertWanted(context.signal);
    const names = this.#namesOf(envelope);
    try {
      const lane = await this.#lanes.get(context);
      yield* lane.call(envelope, context, names);
    } catch (thrown) {
      const error = FabricError.from(thrown);
      if (NOT_SERVED.has(error.code)) this.#lanes.forget();
      throw error.with(names);
    }
  }

  async health({ signal }: CallContext): Promise<Health> {
    return this.#client.health(this.#client.target.pathOf('/'), signal);
  }

  async describe(context: CallContext): Promise<AgentDescription> {
    const { agent_id, capabilities, version, description } = this.#manifest;
    try {
      const lane = await this.#lanes.get(context);
      await lane.probe(context);
    } catch (error) {
      throw FabricError.from(error).with({ agent_id });
    }
    return {
      ...(version !== '0.0.0' && { version }),
      ...(description !== undefined && { description }),
      capabilities: capabilities ?? this.#offeredCapabilities(),
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#lanes.close(), this.#client.close()]);
  }

  #openers(opened: AdapterOptions, place: Place) {
    const { manifest } = opened;
    const options = this.#options;
    if (options.lane === 'rfc') assertPrivate(manifest, place.target);
    const password = manifest.endpoint.env?.RFC_PASSWORD;
    if (options.lane === 'rfc' && !password) {
      throw failure('no_rfc_password', { agent_id: manifest.agent_id });
    }
    return {
      mcp: () => openMcpLane(opened, options, place),
      http: async () => new HttpLane(this.#client, options),
      a2a: async () => new A2aLane(this.#client, options),
      rfc: async () => new RfcLane(this.#client, options, password ?? ''),
    } satisfies Record<LaneName, () => Promise<AgentZeroLane>>;
  }

  #offeredCapabilities(): Capability[] {
    if (this.#options.lane !== 'rfc') return [capabilitySchema.parse(ASK)];
    return Object.entries(this.#options.functions).map(([name, path]) =>
      capabilitySchema.parse({ name, description: `Calls ${path}`, idempotent: false }),
    );
  }

  #namesOf(envelope: Envelope): CallNames {
    if (this.#manifest.capabilities) return assertCallable(this.#manifest, envelope);
    const served = { ...this.#manifest, capabilities: this.#offeredCapabilities() };
    return assertCallable(served, envelope);
  }
}

/**
 * Where an Agent Zero is, and the secrets it wants. The token stands in a header of the manifest,
 * where secrets are references and errors of the agent are cleaned of them. It never stands in the
 * address: every caller that may list agents sees that.
 */
export interface Place {
  readonly target: Target;
  readonly token: string | undefined;
}

const TOKEN_HEADER = 'x-api-key';

function toPlace(manifest: Manifest, target: Target): Place {
  if (/\/t-[^/]+/.test(target.path)) {
    throw failure('token_in_uri', { agent_id: manifest.agent_id });
  }
  return { target, token: target.headers[TOKEN_HEADER] };
}

/** A request that is read or changed on its way lets others run anything at the agent. */
function assertPrivate({ agent_id }: Manifest, { origin }: Target): void {
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))) return;
  throw failure('rfc_not_private', { agent_id });
}
