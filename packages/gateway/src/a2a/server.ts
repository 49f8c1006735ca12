// One A2A request after its checks: whom it reaches, in which version, and over which binding.

import type { IncomingMessage } from 'node:http';
import { CARD_PATH, LEGACY } from '@starloom/a2a';
import {
  A2aFace,
  assertVersion,
  CardServer,
  type CardSigner,
  createCardSigner,
  PushNotifications,
  requestedVersion,
  serveJsonRpc,
  serveRest,
} from '@starloom/a2a/tasks';
import type { Job } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { Caller } from '../pipeline/call-request.ts';
import { isCallerLimit } from '../pipeline/limits.ts';
import { failure } from '../reasons.ts';
import { assertMessage, idOf } from '../transports/frame.ts';
import type { HttpRequest } from '../transports/routes.ts';
import { awaitSkills, beginTask } from './begin-task.ts';
import { toCard } from './card.ts';
import type { A2aServerOptions } from './endpoint.ts';
import { openScope, type Scope } from './scope.ts';

const RPC_CHECKS = { assertMessage, idOf, isCallerLimit };

/** What a binding knows of a request. */
interface AskedFace
  extends Pick<Caller, 'principal' | 'headers' | 'socket' | 'request' | 'signal' | 'cut'> {
  readonly version: string;
  readonly isLegacy: boolean;
  /** Where the gateway was reached, unless the configuration says it. */
  readonly base: string;
}

export class A2aServer {
  readonly #options: A2aServerOptions;
  readonly #push: PushNotifications;
  readonly #sign: CardSigner;
  readonly #cards = new CardServer();

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
    const { principal, signal, isLegacy, base } = asked;
    const scope = this.#scope(agentId, principal);
    if (!scope) throw failure('not_found/agent');
    const caller = toCaller(asked);
    const deps = { jobs, discovery };
    return new A2aFace(
      { jobs, push: this.#push },
      {
        owner: principal,
        signal,
        isLegacy,
        agentId,
        card: (isExtended) => this.#sign(toCard(scope, this.#cardOptions(base), isExtended)),
        awaitSkills: () => awaitSkills(scope, caller, discovery),
        begin: (task) => beginTask(task, scope, caller, deps),
      },
    );
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
    response.once('close', () => left.abort(failure('client_gone')));
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
      if (request.method !== 'POST') throw failure('method_not_allowed', { allow: 'POST' });
      const checks = RPC_CHECKS;
      return await serveJsonRpc({ exchange, face, version, isLegacy, trace, checks });
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

  async #serveCard(exchange: HttpRequest, face: A2aFace, isLegacy: boolean): Promise<void> {
    const { method } = exchange.request;
    if (method !== 'GET' && method !== 'HEAD')
      throw failure('method_not_allowed', { allow: 'GET, HEAD' });
    await face.awaitSkills();
    await this.#cards.serve(exchange, await face.getAgentCard(), isLegacy);
  }
}

function toCaller({ version, isLegacy: _, base: __, ...asked }: AskedFace): Caller {
  return { ...asked, meta: {}, transport: 'http', tool: 'a2a', protocolVersion: version };
}

function isEncrypted({ socket }: IncomingMessage): boolean {
  return 'encrypted' in socket && socket.encrypted === true;
}
