// The coordination plane over HTTP, WebSocket and channels of messages. A plain POST is one message
// and its answer; a POST that accepts an event stream, a WebSocket and a channel are connections on
// which things are pushed for as long as they last.

import { readFile } from 'node:fs/promises';
import {
  type Coordination,
  type AgentRecord as ListedAgent,
  OPEN_API_URL,
  SERVICE_PATHS,
} from '@starloom/coordination';
import { type AgentRecord, FabricError, type Log } from '@starloom/core';
import type { Principal, ProtectedResource } from '@starloom/identity';
import type { InFlight } from '../in-flight.ts';
import type { Observer } from '../observe/observer.ts';
import type { AgentLookup } from '../pipeline/authorise.ts';
import type { CallLimits } from '../pipeline/call-limits.ts';
import type { HeldBytes } from '../transports/held-bytes.ts';
import type { HttpOptions, HttpRequest, Upgrade } from '../transports/http.ts';
import type { WebSocketTransport } from '../transports/websocket.ts';
import { countOf, serveRpcChannel } from './channel.ts';
import { mayUseCoordination } from './may-use-coordination.ts';
import { RpcPosts } from './posts.ts';

export interface RpcEndpointOptions {
  readonly coordination: Coordination;
  readonly webSocket: WebSocketTransport;
  readonly inFlight: InFlight;
  readonly limits: Pick<CallLimits, 'messages'>;
  readonly held: HeldBytes;
  /** The agents of the gateway that a caller may see. */
  readonly agentsFor: (principal: Principal) => Pick<AgentLookup, 'list'>;
  /** Tells OAuth callers which scope coordination needs. */
  readonly resource?: ProtectedResource | undefined;
  readonly log: Log;
  readonly observer: Pick<Observer, 'requestStarted'>;
}

export class RpcEndpoint {
  readonly #options: RpcEndpointOptions;
  readonly #posts: RpcPosts;
  readonly #channels = new Set<() => Promise<void>>();

  constructor(options: RpcEndpointOptions) {
    this.#options = options;
    this.#posts = new RpcPosts(options.coordination, (principal) => this.#list(principal));
  }

  get routes(): HttpOptions['routes'] {
    const route = { face: 'rpc', dialect: 'details' } as const;
    const post = { ...route, serve: (exchange: HttpRequest) => this.#servePost(exchange) };
    const paths = ['/rpc', ...Object.values(SERVICE_PATHS)];
    const served = Object.fromEntries(paths.map((path) => [path, post]));
    return { ...served, '/rpc/openapi.json': { ...route, serve: serveOpenApi } };
  }

  get upgrades(): HttpOptions['upgrades'] {
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
      throw notAllowed('Coordination takes POST, or a WebSocket at /rpc/ws', 'POST');
    }
    this.#options.limits.messages(principal, countOf(body));
    await this.#posts.serve(exchange);
  }

  #list(principal: Principal): readonly ListedAgent[] {
    return this.#options.agentsFor(principal).list().map(toListed);
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
      const gatewayAgents = () => this.#list(principal);
      await serveRpcChannel(channel, { ...options, gatewayAgents, principal, observe });
      this.#channels.delete(close);
    });
  }
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
  if (!mayUseCoordination(principal)) throw notForThisKey();
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw notAllowed('It can be read only', 'GET, HEAD');
  const text = await readFile(OPEN_API_URL);
  response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

function notForThisKey(): FabricError {
  return new FabricError('POLICY_DENIED', 'This key may not use coordination', {
    details: { reason: 'scope', fix: 'use a key with the scope toolset:coordination' },
  });
}

function notAllowed(message: string, allow: string): FabricError {
  return new FabricError('BAD_INPUT', message, {
    details: { reason: 'method_not_allowed', http_status: 405, allow },
  });
}
