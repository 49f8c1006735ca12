// A2A over HTTP: every exposed agent at `/a2a/<agent_id>`, the gateway itself as `fabric`, whatever the
// agents speak themselves. What the SDK is needed for is loaded with the first request.

import type { IncomingMessage } from 'node:http';
import { a2aError, type Binding, CARD_PATH, OWN_ID, toA2aRefusal } from '@starloom/a2a';
import type { Authenticator } from '@starloom/identity';
import type { AddressGuard } from '@starloom/wire';
import type { GatewayConfig } from '../config.ts';
import type { InFlight } from '../in-flight.ts';
import type { JobCalls } from '../jobs/job-calls.ts';
import type { CallDeps } from '../pipeline/call.ts';
import { failure } from '../reasons.ts';
import type { HttpRequest, Route, Routes } from '../transports/routes.ts';
import type { A2aGrpc } from './grpc.ts';
import type { A2aServer } from './server.ts';

interface A2aEndpointOptions
  extends Pick<CallDeps, 'registry' | 'authoriser' | 'discovery' | 'log' | 'clock' | 'observer'> {
  readonly jobs: JobCalls;
  readonly guard: AddressGuard;
  readonly config: Pick<GatewayConfig, 'a2a' | 'mcp'>;
  readonly version: string;
  readonly authenticator: Authenticator;
  readonly inFlight: InFlight;
  readonly bodyBytes: number;
}

export interface A2aServerOptions extends A2aEndpointOptions {
  /** Where gRPC is served, if it is. */
  readonly grpcPort: () => number | undefined;
}

const ROOT = '/a2a';
const TAKE_OVER_MS = 10_000;
const MAX_DUE = 10_000;
/** Where the JS SDK looks for a card when the URL of an agent has no slash at its end. */
const NAMELESS_CARD = `${ROOT}${CARD_PATH}`;

export class A2aEndpoint {
  readonly #options: A2aEndpointOptions;
  #server: Promise<A2aServer> | undefined;
  #grpc: A2aGrpc | undefined;
  #grpcPort: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: A2aEndpointOptions) {
    this.#options = options;
  }

  get routes(): Routes {
    const route: Route = {
      mayBeEmpty: true,
      serve: (exchange) => this.#serve(exchange),
      face: 'a2a',
      dialect: 'payload',
      isTree: true,
      assertMediaType,
      toRefusal: (error, id, at, trace) =>
        toA2aRefusal(error, id, bindingOf(at?.pathname ?? ''), trace),
    };
    return { [ROOT]: route, [CARD_PATH]: { ...route, isTree: false } };
  }

  /** Begins to serve over gRPC where that is configured; `base` is the URL of the HTTP side. */
  async listen(host: string, base: string): Promise<void> {
    const { config, bodyBytes: messageBytes, ...options } = this.#options;
    const { grpc } = config.a2a;
    if (!grpc) return;
    const { A2aGrpc } = await import('./grpc.ts');
    const { certificate, key } = grpc;
    const tls =
      certificate && key ? { certificate: certificate.reveal(), key: key.reveal() } : undefined;
    const server = await this.#open();
    this.#grpc = new A2aGrpc({ ...options, server, messageBytes, tls, base });
    this.#grpcPort = await this.#grpc.listen(host, grpc.port);
  }

  /** Looks for tasks whose webhooks an earlier start, or another gateway, left behind. */
  start(): void {
    this.#timer = setInterval(() => void this.#takeOver(), TAKE_OVER_MS).unref();
    void this.#takeOver();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#grpc?.close();
    await (await this.#server)?.close();
  }

  async #takeOver(): Promise<void> {
    const { jobs, log } = this.#options;
    try {
      const due = await jobs.engine.listDue(MAX_DUE);
      if (due.length > 0) await (await this.#open()).takeOver(due);
    } catch (err) {
      log.warn({ err }, 'a2a: cannot look for webhooks of tasks');
    }
  }

  #open(): Promise<A2aServer> {
    const options = { ...this.#options, grpcPort: () => this.#grpcPort };
    this.#server ??= import('./server.ts').then(({ A2aServer }) => new A2aServer(options));
    return this.#server;
  }

  async #serve(exchange: HttpRequest): Promise<void> {
    const server = await this.#open();
    const { pathname } = exchange.url;
    if (pathname === CARD_PATH) return await server.serve(exchange, undefined, CARD_PATH);
    if (pathname === NAMELESS_CARD) {
      return await server.serve(exchange, server.onlyAgent(exchange.principal), CARD_PATH);
    }
    const { agentId, path } = splitPath(pathname);
    await server.serve(exchange, agentId, path);
  }
}

/** An agent, and what is below it. */
function splitPath(pathname: string): { agentId: string | undefined; path: string } {
  const [first = '', ...rest] = pathname.slice(ROOT.length + 1).split('/');
  const path = rest.length === 0 ? '' : `/${rest.join('/')}`;
  return { agentId: first === OWN_ID ? undefined : first, path };
}

function bindingOf(pathname: string): Binding {
  if (pathname === CARD_PATH) return 'rest';
  const { path } = splitPath(pathname);
  return path === '' || path === '/' ? 'json-rpc' : 'rest';
}

const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/a2a+json']);

/** A request without a body need not say what it is. */
function assertMediaType({ headers }: IncomingMessage): void {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = headers;
  if (encoding.toLowerCase() !== 'identity') {
    throw failure('content_encoding');
  }
  const [media = ''] = (type ?? '').split(';');
  if (type === undefined || JSON_TYPES.has(media.trim().toLowerCase())) return;
  throw a2aError('CONTENT_TYPE_NOT_SUPPORTED', 'The content type must be application/json');
}
