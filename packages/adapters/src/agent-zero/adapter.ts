// Agent Zero, by whichever of its interfaces is configured, or the first of MCP, HTTP and A2A that
// it serves. All of them are at one address and take one token. Remote function calls are used only
// where the manifest says so.

import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  type CallContext,
  type Capability,
  capabilitySchema,
  type EventBody,
  FabricError,
  findCapability,
  isLoopback,
  type Manifest,
  TASK_SCHEMA,
} from '@starloom/core';
import { HttpClient } from '../http/http-client.ts';
import { HttpAdapter, HttpProfile, type ProfileCall } from '../http/profile.ts';
import type { Target } from '../http/target.ts';
import { failure } from '../reasons.ts';
import { capabilityNotFound } from '../upstream/call.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { A2aLane } from './a2a-lane.ts';
import { HttpLane } from './http-lane.ts';
import { LaneChoice } from './lane.ts';
import { openMcpLane } from './mcp-lane.ts';
import { type AgentZeroOptions, agentZeroOptionsSchema } from './options.ts';
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

export function createAgentZeroAdapter(opened: AdapterOptions): Adapter {
  const { manifest } = opened;
  const options = parseOptions(agentZeroOptionsSchema, manifest);
  const client = new HttpClient(manifest, options);
  assertPlace(manifest, client.target);
  return new HttpAdapter(manifest, client, new AgentZeroProfile(opened, client, options));
}

class AgentZeroProfile extends HttpProfile<AgentZeroOptions> {
  readonly #lanes: LaneChoice;
  readonly #offered: Capability[];

  constructor(opened: AdapterOptions, client: HttpClient, options: AgentZeroOptions) {
    super(opened.manifest, client, options);
    const { lane } = options;
    const password = lane === 'rfc' ? rfcPassword(opened.manifest, client.target) : '';
    const openers = {
      mcp: () => openMcpLane(opened, options, client.target),
      http: async () => new HttpLane(client, options),
      a2a: async () => new A2aLane(client, options),
      rfc: async () => new RfcLane(client, options, password),
    };
    this.#lanes = new LaneChoice(openers, lane === 'auto' ? ['mcp', 'http', 'a2a'] : [lane]);
    this.#offered = toCapabilities(options);
  }

  override get healthPath(): string {
    return this.client.target.pathOf('/');
  }

  async *call(call: ProfileCall): AsyncIterable<EventBody> {
    try {
      const lane = await this.#lanes.get(call.context);
      yield* lane.call(call);
    } catch (error) {
      if (NOT_SERVED.has(FabricError.from(error).code)) this.#lanes.forget();
      throw error;
    }
  }

  override async describe(context: CallContext): Promise<AgentDescription> {
    const { capabilities = this.#offered, version, description } = this.manifest;
    const lane = await this.#lanes.get(context);
    await lane.probe(context);
    return {
      ...(version !== '0.0.0' && { version }),
      ...(description !== undefined && { description }),
      capabilities,
    };
  }

  override async find(name: string): Promise<Capability> {
    const served = { ...this.manifest, capabilities: this.#offered };
    const found = findCapability(served, name);
    if (found) return found;
    throw capabilityNotFound(served, name);
  }

  override close(): Promise<void> {
    return this.#lanes.close();
  }
}

function toCapabilities({ lane, functions }: AgentZeroOptions): Capability[] {
  if (lane !== 'rfc') return [capabilitySchema.parse(ASK)];
  return Object.entries(functions).map(([name, path]) =>
    capabilitySchema.parse({ name, description: `Calls ${path}`, idempotent: false }),
  );
}

/**
 * The token stands in a header of the manifest, where secrets are references and errors of the agent
 * are cleaned of them. It never stands in the address: every caller that may list agents sees that.
 */
function assertPlace({ agent_id }: Manifest, { path }: Target): void {
  if (/\/t-[^/]+/.test(path)) throw failure('token_in_uri', { agent_id });
}

/** A request that is read or changed on its way lets others run anything at the agent. */
function rfcPassword({ agent_id, endpoint }: Manifest, { origin }: Target): string {
  const { protocol, hostname } = new URL(origin);
  if (protocol !== 'https:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''))) {
    throw failure('rfc_not_private', { agent_id });
  }
  const password = endpoint.env?.RFC_PASSWORD;
  if (password) return password;
  throw failure('no_rfc_password', { agent_id });
}
