// One A2A request after its checks: whom it reaches, in which version, and over which binding.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AgentCard } from '@a2a-js/sdk';
import { LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { ServerCallContext } from '@a2a-js/sdk/server';
import { FabricError, type Job } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { Caller } from '../pipeline/call-request.ts';
import type { HttpRequest } from '../transports/http.ts';
import { CARD_PATH, toCard } from './card.ts';
import type { A2aServerOptions } from './endpoint.ts';
import { A2aFace, type FaceRequest } from './face.ts';
import { serveJsonRpc } from './json-rpc.ts';
import { PushNotifications } from './push-notifications.ts';
import { respond } from './respond.ts';
import { serveRest } from './rest.ts';
import { openScope, type Scope } from './scope.ts';
import { type CardSigner, createCardSigner } from './sign-card.ts';
import { assertVersion, LEGACY, requestedVersion } from './versions.ts';

/** What a binding knows of a request. */
export interface AskedFace
  extends Pick<Caller, 'principal' | 'headers' | 'socket' | 'request' | 'signal' | 'cut'> {
  readonly version: string;
  readonly isLegacy: boolean;
  /** Where the gateway was reached, unless the configuration says it. */
  readonly base: string;
}

const MOST_CARDS = 1_000;

export class A2aServer {
  readonly #options: A2aServerOptions;
  readonly #push: PushNotifications;
  readonly #sign: CardSigner;
  /** When a card was first served as it is, by its tag. */
  readonly #firstServed = new Map<string, string>();

  constructor(options: A2aServerOptions) {
    const { jobs, guard, log, clock, config } = options;
    const { signing_key } = config.a2a;
    this.#options = options;
    this.#sign = signing_key ? createCardSigner(signing_key.reveal()) : async (card) => card;
    this.#push = new PushNotifications({ jobs, guard, log, clock });
  }

  async close(): Promise<void> {
    await this.#push.close();
  }

  /** Goes on with the webhooks of tasks that no gateway follows. */
  async takeOver(jobs: readonly Job[]): Promise<void> {
    await this.#push.takeOver(jobs);
  }

  /** One request, whatever it came over; a FabricError with 404 for an agent that is not there. */
  open(agentId: string | undefined, asked: AskedFace): A2aFace {
    const { jobs, discovery } = this.#options;
    const { principal, isLegacy, base } = asked;
    const scope = this.#scope(agentId, principal);
    if (!scope) throw unknownAgent();
    const card: FaceRequest['card'] = (isExtended) =>
      this.#sign(toCard(scope, this.#cardOptions(base), isExtended));
    const deps = { jobs, push: this.#push, discovery };
    return new A2aFace(deps, { scope, caller: toCaller(asked), isLegacy, card });
  }

  /** The agent, if the caller may use one alone; with several it is `undefined`, the gateway. */
  onlyAgent(principal: Principal): string | undefined {
    const [first, ...others] = this.#scope(undefined, principal)?.records() ?? [];
    return others.length === 0 ? first?.manifest.agent_id : undefined;
  }

  /** `path` is what follows the URL of the agent. */
  async serve(exchange: HttpRequest, agentId: string | undefined, path: string): Promise<void> {
    const { config } = this.#options;
    const { request, response, url, principal, seen } = exchange;
    const left = new AbortController();
    response.once('close', () => left.abort(gone()));
    const version = requestedVersion(request, url);
    const isLegacy = version === LEGACY && config.a2a.versions.includes(LEGACY);
    const { headers, socket } = request;
    const face = this.open(agentId, {
      principal,
      headers,
      socket,
      request: seen,
      version,
      isLegacy,
      signal: left.signal,
      base: `${isEncrypted(request) ? 'https' : 'http'}://${headers.host}`,
      cut: () => response.destroy(),
    });
    try {
      await this.#serveFace(exchange, face, { path, version, isLegacy });
    } finally {
      if (face.failure) seen.fail(face.failure);
    }
  }

  async #serveFace(
    exchange: HttpRequest,
    face: A2aFace,
    asked: Pick<AskedFace, 'version' | 'isLegacy'> & { readonly path: string },
  ): Promise<void> {
    const { config } = this.#options;
    const { path, version, isLegacy } = asked;
    if (path === CARD_PATH) return await this.#serveCard(exchange, face, isLegacy);
    assertVersion(version, config.a2a.versions);
    const { request, seen } = exchange;
    const { trace } = seen;
    if (path === '' || path === '/') {
      if (request.method !== 'POST') throw postOnly();
      return await serveJsonRpc({ exchange, face, version, isLegacy, trace });
    }
    await serveRest({ exchange, face, path, trace });
  }

  #scope(agentId: string | undefined, principal: Principal): Scope | undefined {
    const { registry, authoriser, config } = this.#options;
    return openScope(agentId, principal, { registry, authoriser, expose: config.mcp.expose });
  }

  #cardOptions(asked: string) {
    const { config, version, grpcPort } = this.#options;
    const { versions, public_url } = config.a2a;
    const base = public_url?.replace(/\/+$/, '') ?? asked;
    return { versions, version, base, grpcPort: grpcPort() };
  }

  async #serveCard(
    { request, response }: HttpRequest,
    face: A2aFace,
    isLegacy: boolean,
  ): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw readOnly();
    await face.awaitSkills();
    const card = await face.getAgentCard();
    const body = isLegacy ? await toHybrid(card, face) : toJson(card);
    // Signatures of the same card may differ.
    const { signatures: _, ...content } = body;
    const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
    const etag = `"${hash.slice(0, 32)}"`;
    const headers = {
      etag,
      'last-modified': this.#lastModified(etag),
      'cache-control': 'private, max-age=60',
      vary: 'Authorization, A2A-Version',
    };
    const isKnown = request.headers['if-none-match'] === etag;
    if (isKnown) return void response.writeHead(304, headers).end();
    respond(response, { status: 200, contentType: 'application/json', body, headers });
  }

  #lastModified(etag: string): string {
    const before = this.#firstServed.get(etag);
    if (before !== undefined) return before;
    const [oldest] = this.#firstServed.keys();
    if (oldest !== undefined && this.#firstServed.size >= MOST_CARDS) {
      this.#firstServed.delete(oldest);
    }
    const now = new Date().toUTCString();
    this.#firstServed.set(etag, now);
    return now;
  }
}

/** Empty lists are written too: not every client takes a card without them. */
function toJson(card: AgentCard): Record<string, unknown> {
  const { securityRequirements } = card;
  const json = AgentCard.toJSON(card) as Record<string, unknown>;
  return { skills: [], ...json, securityRequirements };
}

/**
 * One document for clients of both versions: the fields of 0.3, the interfaces of 1.0, and each security
 * scheme in both shapes. `securityRequirements` is left out: clients that know 0.3 read `security`, and the
 * Go SDK (2.3.1) refuses the shape that 1.0 gives it. A signature is for the plain form.
 */
async function toHybrid(card: AgentCard, face: A2aFace): Promise<Record<string, unknown>> {
  const { supportedInterfaces, securitySchemes } = toJson(card);
  const legacy = await translated({ ...card, signatures: [] }, face);
  const schemes = Object.entries(securitySchemes as Record<string, object>).map(
    ([name, scheme]) => [name, { ...legacy.securitySchemes?.[name], ...scheme }],
  );
  return { ...legacy, securitySchemes: Object.fromEntries(schemes), supportedInterfaces };
}

/** The SDK has its translation of cards only behind the operation that reads one. */
async function translated(card: AgentCard, face: A2aFace) {
  const plain = { getAuthenticatedExtendedAgentCard: async () => card };
  const handler = new LegacyRestTransportHandler(Object.assign(Object.create(face), plain));
  return await handler.getAuthenticatedExtendedAgentCard(new ServerCallContext());
}

function toCaller(asked: AskedFace): Caller {
  const { principal, headers, socket, request, version, signal, cut } = asked;
  return {
    principal,
    headers,
    socket,
    request,
    meta: {},
    transport: 'http',
    tool: 'a2a',
    protocolVersion: version,
    signal,
    cut,
  };
}

function unknownAgent(): FabricError {
  return new FabricError('BAD_INPUT', 'There is no such agent', {
    details: { reason: 'not_found', http_status: 404, fix: 'see /.well-known/agent-card.json' },
  });
}

function postOnly(): FabricError {
  return new FabricError('BAD_INPUT', 'JSON-RPC is posted', {
    details: { reason: 'method_not_allowed', http_status: 405, allow: 'POST' },
  });
}

function readOnly(): FabricError {
  return new FabricError('BAD_INPUT', 'A card can be read only', {
    details: { reason: 'method_not_allowed', http_status: 405, allow: 'GET, HEAD' },
  });
}

function gone(): FabricError {
  return new FabricError('CANCELLED', 'The client left', { details: { reason: 'client_gone' } });
}

function isEncrypted({ socket }: IncomingMessage): boolean {
  return 'encrypted' in socket && socket.encrypted === true;
}
