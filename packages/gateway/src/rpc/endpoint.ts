// The coordination plane over HTTP, WebSocket and channels of messages. A plain POST is one message
// and its answer; a POST that accepts an event stream, a WebSocket and a channel are connections on
// which things are pushed for as long as they last.

import { readFile } from 'node:fs/promises';
import {
  type CallableAgent,
  type Coordination,
  type GatewayDirectory,
  type AgentRecord as ListedAgent,
  type MayUse,
  OPEN_API_URL,
  SERVICE_PATHS,
} from '@starloom/coordination';
import type { AgentRecord, InstanceEpoch, Log } from '@starloom/core';
import { mayUseToolset, type Principal } from '@starloom/identity';
import type { Wires } from '../gateway-faces.ts';
import type { Observer } from '../observe/observer.ts';
import type { CallLimits } from '../pipeline/limits.ts';
import type { AgentLookup } from '../pipeline/route.ts';
import { failure } from '../reasons.ts';
import type { Registrations } from '../registrations.ts';
import type { HttpRequest, Routes, Upgrade, UpgradeRoutes } from '../transports/routes.ts';
import { countOf, serveRpcChannel } from './channel.ts';
import { RpcPosts } from './posts.ts';

interface RpcEndpointOptions extends Wires {
  readonly coordination: Coordination;
  readonly limits: Pick<CallLimits, 'messages'>;
  /** The agents of the gateway that a caller may see. */
  readonly agentsFor: (principal: Principal) => Pick<AgentLookup, 'list'>;
  readonly registrations: Registrations;
  readonly log: Log;
  readonly observer: Pick<Observer, 'requestStarted'>;
}

export class RpcEndpoint {
  readonly #options: RpcEndpointOptions;
  readonly #posts: RpcPosts;
  readonly #channels = new Set<() => Promise<void>>();

  constructor(options: RpcEndpointOptions) {
    this.#options = options;
    this.#posts = new RpcPosts(options.coordination, (principal) => this.#directory(principal));
  }

  get routes(): Routes {
    const route = { face: 'rpc', dialect: 'details' } as const;
    const post = { ...route, serve: (exchange: HttpRequest) => this.#servePost(exchange) };
    const paths = ['/rpc', ...Object.values(SERVICE_PATHS)];
    const served = Object.fromEntries(paths.map((path) => [path, post]));
    return { ...served, '/rpc/openapi.json': { ...route, serve: serveOpenApi } };
  }

  get upgrades(): UpgradeRoutes {
    return { '/rpc/ws': (upgrade) => this.#serveWebSocket(upgrade) };
  }

  /** Answers requests that wait for something: a shutdown cannot wait with them. */
  endWaiting(): void {
    this.#posts.endWaiting();
  }

  /** Ends every connection; what is not done within `ms` is answered as it is. */
  async close(ms: number): Promise<void> {
    await Promise.all([this.#posts.close(ms), ...Array.from(this.#channels, (close) => close())]);
  }

  async #servePost(exchange: HttpRequest): Promise<void> {
    const { request, principal, body } = exchange;
    this.#options.resource?.assertMayUse(principal, mayUseCoordination);
    if (request.method !== 'POST') {
      throw failure('method_not_allowed', { allow: 'POST' });
    }
    this.#options.limits.messages(principal, countOf(body));
    await this.#posts.serve(exchange);
  }

  #directory(principal: Principal): GatewayDirectory {
    const { agentsFor, registrations } = this.#options;
    const at = (agent_id: string, instance: InstancePlace) => ({ agent_id, ...instance });
    return {
      list: () => agentsFor(principal).list().map(toListed),
      register: async (agent, leaseMs) => {
        const manifest = toManifest(agent);
        const { node_id, epoch } = await registrations.register(principal, { manifest, leaseMs });
        return { node_id, epoch };
      },
      renew: async (id, instance) => void (await registrations.renew(principal, at(id, instance))),
      drain: async (id, instance) => await registrations.drain(principal, at(id, instance)),
      leave: async (id, instance) => await registrations.leave(principal, at(id, instance)),
    };
  }

  #serveWebSocket(upgrade: Upgrade): void {
    const { webSocket, observer, ...options } = this.#options;
    const { principal, request } = upgrade;
    const { headers } = request;
    const about = { face: 'rpc', transport: 'ws', headers, principal } as const;
    const observe = () => observer.requestStarted(about);
    webSocket.accept(upgrade, async (channel) => {
      const close = () => channel.close();
      this.#channels.add(close);
      const gateway = this.#directory(principal);
      await serveRpcChannel(channel, { ...options, gateway, principal, observe });
      this.#channels.delete(close);
    });
  }
}

type InstancePlace = Pick<InstanceEpoch, 'node_id' | 'epoch'>;

/** The manifest of an agent that says where it can be called. */
function toManifest({ capabilities, ...agent }: CallableAgent): unknown {
  return {
    ...agent,
    capabilities: capabilities.map(({ name, description, parameters }) => ({
      name,
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { input_schema: parameters }),
    })),
  };
}

/** An agent of the gateway, as the agent registry of coordination lists agents. */
function toListed({ manifest: { agent_id }, capabilities, health }: AgentRecord): ListedAgent {
  const checkedAt = health.checked_at === null ? 0 : Date.parse(health.checked_at);
  return {
    agent_id,
    name: agent_id,
    capabilities: capabilities.map(({ name, description }) => ({ name, description })),
    metadata: {},
    status: health.status === 'offline' ? 'inactive' : 'active',
    epoch: 0,
    registered_at: 0,
    last_seen: checkedAt,
    source: 'gateway',
  };
}

/** To the same callers as everything here; the repository has a public copy. */
async function serveOpenApi({ request, response, principal }: HttpRequest): Promise<void> {
  if (!mayUseCoordination(principal)) throw failure('scope');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw failure('method_not_allowed', { allow: 'GET, HEAD' });
  const text = await readFile(OPEN_API_URL);
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

/** Who may use `/rpc`, the paths of its services, and sessions as resources. */
export const mayUseCoordination: MayUse = ({ scopes = [], tier = 'public' }) =>
  mayUseToolset({ scopes, tier }, 'coordination');
