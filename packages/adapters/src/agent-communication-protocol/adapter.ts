// Agents of a server that speaks the Agent Communication Protocol (version 0.2.0). Each agent of the
// server is a capability; each call is a run; a session of the server is a conversation.

import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  assertWanted,
  type CallContext,
  type Capability,
  capabilityNameSchema,
  capabilitySchema,
  type Envelope,
  type EventBody,
  FabricError,
  findCapability,
  type Health,
  type Manifest,
  TASK_SCHEMA,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { z } from 'zod';
import { withPairs } from '../http/encode-value.ts';
import { HttpClient } from '../http/http-client.ts';
import { JsonRequests } from '../http/json-requests.ts';
import { failure } from '../reasons.ts';
import { assertCallable, type CallNames } from '../upstream/call.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { toMessage } from './messages.ts';
import { agentCommunicationProtocolOptionsSchema } from './options.ts';
import { RunCall } from './run-call.ts';
import { RunServer } from './server.ts';

/** Agents asked for at once, and at most. */
const PAGE = 100;
const MAX_AGENTS = 1_000;

export function createAgentCommunicationProtocolAdapter(options: AdapterOptions): Adapter {
  return new AgentCommunicationProtocolAdapter(options);
}

class AgentCommunicationProtocolAdapter implements Adapter {
  readonly #manifest: Manifest;
  readonly #options: z.infer<typeof agentCommunicationProtocolOptionsSchema>;
  readonly #client: HttpClient;

  constructor({ manifest }: AdapterOptions) {
    this.#manifest = manifest;
    this.#options = parseOptions(agentCommunicationProtocolOptionsSchema, manifest);
    this.#client = new HttpClient(manifest, this.#options);
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    assertWanted(context.signal);
    const names = this.#namesOf(envelope);
    const { mode, poll_ms } = this.#options;
    const call = new RunCall({
      server: new RunServer(JsonRequests.of(this.#client, envelope, context, names), mode, context),
      newRun: { agentName: this.#agentName(envelope), input: toMessage(envelope.input) },
      context,
      excerpt: this.#client.excerpt,
      pollMs: poll_ms,
    });
    try {
      yield* call.events();
    } catch (error) {
      throw FabricError.from(error).with(names);
    }
  }

  async health({ signal }: CallContext): Promise<Health> {
    return this.#client.health(this.#client.target.pathOf('/ping'), signal);
  }

  async describe({ signal, log }: CallContext): Promise<AgentDescription> {
    const { agent_id } = this.#manifest;
    const requests = new JsonRequests(this.#client, { signal, log, names: { agent_id } });
    const capabilities = new Map<string, Capability>();
    for (let offset = 0; offset < MAX_AGENTS; offset += PAGE) {
      const pairs = [`limit=${PAGE}`, `offset=${offset}`];
      const path = withPairs(this.#client.target.pathOf('/agents'), pairs);
      const value = await requests.json({ method: 'GET', path });
      const known = capabilities.size;
      const agents = agentsIn(value);
      for (const agent of agents) {
        const capability = toCapability(agent);
        if (capability) capabilities.set(capability.name, capability);
      }
      if (agents.length < PAGE || capabilities.size === known) break;
    }
    return { capabilities: [...capabilities.values()] };
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** Calls are limited to the capabilities of the manifest, if it lists any. */
  #namesOf(envelope: Envelope): CallNames {
    if (this.#manifest.capabilities) return assertCallable(this.#manifest, envelope);
    return { agent_id: this.#manifest.agent_id, capability: envelope.target.capability };
  }

  #agentName({ target }: Envelope): string {
    return findCapability(this.#manifest, target.capability)?.tool ?? target.capability;
  }
}

function agentsIn(value: unknown): readonly unknown[] {
  const { agents } = toFields(value);
  if (Array.isArray(agents)) return agents;
  throw failure('bad_result/agents');
}

const MAX_DESCRIPTION = 4_096;

const agentSchema = z.object({
  name: z.string(),
  description: z.string().nullish(),
  input_content_types: z.array(z.string()).nullish(),
  output_content_types: z.array(z.string()).nullish(),
});

/** An agent of a server as a capability; nothing for one whose manifest or name cannot be used. */
function toCapability(value: unknown): Capability | undefined {
  const agent = agentSchema.safeParse(value);
  if (!agent.success || !capabilityNameSchema.safeParse(agent.data.name).success) return undefined;
  const { name, description, input_content_types, output_content_types } = agent.data;
  const types = [...(input_content_types ?? []), ...(output_content_types ?? [])];
  const said = cleanText(description, MAX_DESCRIPTION);
  return capabilitySchema.parse({
    name,
    streaming: true,
    modalities: toModalities(types),
    ...(said && { description: said }),
    input_schema: TASK_SCHEMA,
  });
}

function toModalities(types: readonly string[]): string[] {
  const kinds = types.map((type) => /^(image|audio|video)\//.exec(type)?.[1] ?? 'text');
  return [...new Set(['text', ...kinds])];
}
