// Agents of a server that speaks the Agent Communication Protocol (version 0.2.0). Each agent of the
// server is a capability; each call is a run; a session of the server is a conversation.

import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  type CallContext,
  type Capability,
  capabilityNameSchema,
  capabilitySchema,
  type EventBody,
  TASK_SCHEMA,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { z } from 'zod';
import { withPairs } from '../http/encode-value.ts';
import { HttpClient } from '../http/http-client.ts';
import { JsonRequests } from '../http/json-requests.ts';
import { HttpAdapter, HttpProfile, type ProfileCall } from '../http/profile.ts';
import { failure } from '../reasons.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { agentCommunicationProtocolOptionsSchema, type RunOptions } from './options.ts';
import { RunCall } from './run-call.ts';

/** Agents asked for at once, and at most. */
const PAGE = 100;
const MAX_AGENTS = 1_000;

export function createAgentCommunicationProtocolAdapter({ manifest }: AdapterOptions): Adapter {
  const options = parseOptions(agentCommunicationProtocolOptionsSchema, manifest);
  const client = new HttpClient(manifest, options);
  return new HttpAdapter(manifest, client, new RunProfile(manifest, client, options));
}

class RunProfile extends HttpProfile<RunOptions> {
  override get healthPath(): string {
    return this.client.target.pathOf('/ping');
  }

  call(call: ProfileCall): AsyncIterable<EventBody> {
    return new RunCall(call, this.options).events();
  }

  override async describe({ signal, log }: CallContext): Promise<AgentDescription> {
    const requests = new JsonRequests(this.client, { signal, log });
    const capabilities = new Map<string, Capability>();
    for (let offset = 0; offset < MAX_AGENTS; offset += PAGE) {
      const pairs = [`limit=${PAGE}`, `offset=${offset}`];
      const path = withPairs(this.client.target.pathOf('/agents'), pairs);
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

  /** Calls are limited to the capabilities of the manifest only if it lists any. */
  override async find(name: string) {
    return { name };
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
