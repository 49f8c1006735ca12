// The HTTP side: one server for every endpoint. Each request passes the same checks in the order of
// the contracts: framing, site, authentication from the headers, size, and only then its body.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { FabricError } from '@starloom/core';
import { type Principal, pickCredentials } from '@starloom/identity';
import {
  type BrowserGuard,
  createBrowserGuard,
  FairTurns,
  streamTurns,
  writeRefusal,
} from '@starloom/wire';
import { CONSOLE_ROOT, type Console } from '../console/console.ts';
import { NOTICE_ROOT } from '../inbound-webhooks.ts';
import type { ActiveRequest } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import { belongsToCall, idOf, openCount, parseInTurns, parseValue, refusedId } from './frame.ts';
import { certificateOf, createListener, listenAt } from './listener.ts';
import { OpenSockets, StaleConnections } from './open-connections.ts';
import {
  assertFraming,
  assertJson,
  BodyBudget,
  discardBody,
  isGone,
  parseTarget,
  readBody,
  tellToSend,
} from './read-request.ts';
import {
  fromStatus,
  kindOf,
  refusalOf,
  refuseUnreadable,
  refuseUpgrade,
  UnreadRefusals,
} from './refusals.ts';
import { type CountedResponse, SMALL_BYTES } from './reply.ts';
import {
  answerProbe,
  type HttpOptions,
  PROBES,
  RESOURCE_PATH,
  type Route,
  type Routes,
  routeAbove,
} from './routes.ts';
import { toCloseFrame } from './websocket.ts';

const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 60_000;
const MAX_CONNECTIONS = 16_384;
/** Close code of a WebSocket. */
const POLICY_VIOLATION = 1008;

export class HttpTransport {
  readonly #options: HttpOptions;
  readonly #server: Server<typeof IncomingMessage, typeof CountedResponse>;
  #assertSameSite: BrowserGuard;
  readonly #bodies = new BodyBudget();
  readonly #unread = new UnreadRefusals();
  readonly #turns = new FairTurns({ gathers: true });
  readonly #large = new FairTurns({ ms: 0, restsBeside: this.#turns });
  readonly #sockets: OpenSockets;
  readonly #stale: StaleConnections;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#assertSameSite = this.#createGuard();
    options.certificates?.onChange(() => {
      this.#assertSameSite = this.#createGuard();
    });
    this.#sockets = new OpenSockets(options.socketsPerPrincipal);
    this.#stale = new StaleConnections(options.authenticator);
    this.#server = createListener(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
      },
      options.certificates,
      (request, response) => void this.#serve(request, response),
    );
    this.#server.maxConnections = MAX_CONNECTIONS;
    // Such a client is told to send its body when the body is read, and not before.
    this.#server.on('checkContinue', (request, response) => void this.#serve(request, response));
    this.#server.on('clientError', refuseUnreadable);
    // The event loop accepts one in each turn: long turns would keep new clients waiting for minutes.
    this.#server.on('connection', () => this.#turns.hurry());
    this.#server.on(
      'upgrade',
      (request, socket, head) => void this.#upgrade(request, socket as Socket, head),
    );
  }

  /** The URL it is reached under. */
  async listen(): Promise<string> {
    return await listenAt(this.#server, this.#options);
  }

  /** Takes no new connections, and ends those that are open. */
  async close(): Promise<void> {
    this.#stale.close();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  /** The names of the certificate are ours, too: no other page can show it. */
  #createGuard(): BrowserGuard {
    const { host, names, resource, certificates } = this.#options;
    const others = [names, resource?.host ?? [], certificates?.hosts ?? []].flat();
    return createBrowserGuard(host, others);
  }

  async #serve(request: IncomingMessage, response: CountedResponse): Promise<void> {
    let id: string | number | null = null;
    let isKnown = false;
    const { inFlight } = this.#options;
    const isLate = inFlight.isClosing;
    const leave = inFlight.enter();
    const seen = this.#observe(request, 'http');
    let route: Route | undefined;
    response.on('close', () => {
      leave();
      // Probes and notices are no requests of a face.
      if (route) endWith(response, seen);
    });
    try {
      assertFraming(request);
      this.#assertSameSite(request.headers);
      const url = parseTarget(request.url);
      const probe =
        PROBES.has(url.pathname) || url.pathname.startsWith(RESOURCE_PATH)
          ? await this.#probe(request, url.pathname, seen)
          : undefined;
      if (probe) return void response.writeHead(probe.status, probe.headers).end(await probe.body);
      if (url.pathname.startsWith(NOTICE_ROOT)) return await this.#notice(request, response, url);
      const page = this.#consoleAt(url);
      if (page?.isPage(url.pathname)) return await page.servePage(request, response, url.pathname);
      const byHeaders = () => this.#authenticate(request, 'http', seen);
      const proven = page ? page.authenticate(request, url, byHeaders) : byHeaders();
      const principal = proven instanceof Promise ? await proven : proven;
      seen.principal = principal;
      response.countFor(principal.id, this.#options.held);
      isKnown = true;
      route = findRoute(this.#options.routes, url);
      seen.face = route.face;
      let body: unknown;
      let bytes = 0;
      if (request.method !== 'POST') inFlight.assertOpen();
      else {
        (route.assertMediaType ?? assertJson)(request);
        const text = await this.#readBody(request, response, principal);
        bytes = text.length;
        this.#hold(response, principal, bytes);
        try {
          const parsed = this.#parse(text, route, principal);
          body = parsed instanceof Promise ? await parsed : parsed;
        } catch (error) {
          id = refusedId(text, error);
          throw error;
        }
        id = idOf(body);
        seen.read(body);
        if (bytes >= LARGE_LENGTH) await this.#large.enter(principal.id);
        if (isLate && !belongsToCall(body)) inFlight.assertOpen();
      }
      const detach = () => {
        this.#sockets.add(principal.id, response);
        leave();
        seen.end();
        this.#endWithCredential(response, principal, () => response.destroy());
      };
      await route.serve({ request, response, principal, url, body, bytes, seen, detach });
    } catch (error) {
      seen.fail(error);
      if (isGone(error)) return void response.destroy();
      const refusal = refusalOf(request, error, id, seen, this.#options);
      seen.end();
      if (request.complete) writeRefusal(response, refusal);
      else this.#unread.refuse(request, response, refusal, isKnown);
    }
  }

  #consoleAt({ pathname }: URL): Console | undefined {
    const isBelow = pathname.startsWith(CONSOLE_ROOT) && /^\/console(?:\/|$)/.test(pathname);
    return isBelow ? this.#options.console : undefined;
  }

  /** The adapter is woken by the head; what the agent says in the body is not used. */
  async #notice(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    this.#options.webhooks.take(request.method, url.pathname, request.headers);
    tellToSend(request, response);
    await discardBody(request, this.#options.bodyBytes);
    response.writeHead(204).end();
  }

  #readBody(
    request: IncomingMessage,
    response: ServerResponse,
    { id }: Principal,
  ): Promise<string> {
    return readBody(request, {
      limit: this.#options.bodyBytes,
      share: this.#bodies.open(id),
      proceed: () => tellToSend(request, response),
      begin: (bytes) => (bytes >= LARGE_LENGTH ? this.#large : this.#turns).enter(id),
      pace: () => streamTurns.enter(id),
      count: mayBeLarge(request) ? openCount() : undefined,
    });
  }

  /** A large body in several turns, so that others are served between its parts. */
  #parse(text: string, { mayBeEmpty, assertBody }: Route, { id }: Principal): unknown {
    if (mayBeEmpty && text === '') return undefined;
    if (text.length >= LARGE_LENGTH) {
      return parseInTurns(text, () => this.#large.enter(id)).then((body) => {
        assertBody?.(body);
        return body;
      });
    }
    const body = parseValue(text);
    assertBody?.(body);
    return body;
  }

  /** A large request counts until it is answered. */
  #hold(response: ServerResponse, { id }: Principal, bytes: number): void {
    if (bytes <= SMALL_BYTES) return;
    const { held } = this.#options;
    held.take(id, bytes);
    response.once('close', () => held.give(id, bytes));
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const onError = () => socket.destroy();
    socket.on('error', onError);
    const seen = this.#observe(request, 'ws');
    try {
      assertFraming(request);
      this.#assertSameSite(request.headers);
      const url = parseTarget(request.url);
      const proven = this.#authenticate(request, 'ws', seen);
      const principal = proven instanceof Promise ? await proven : proven;
      seen.principal = principal;
      const serve = findAt(this.#options.upgrades, url);
      this.#options.inFlight.assertOpen();
      this.#sockets.add(principal.id, socket);
      const end = () => socket.end(toCloseFrame(POLICY_VIOLATION, 'the credential has ended'));
      this.#endWithCredential(socket, principal, end);
      socket.off('error', onError);
      seen.face = routeAbove(this.#options.routes, url)?.face ?? 'http';
      seen.end();
      serve({ request, socket, head, principal, url });
    } catch (error) {
      seen.fail(error);
      const refusal = refusalOf(request, error, null, seen, this.#options);
      seen.end();
      refuseUpgrade(socket, refusal);
    }
  }

  #authenticate(
    request: IncomingMessage,
    transport: 'http' | 'ws',
    seen: ActiveRequest,
  ): Principal | Promise<Principal> {
    const { rawHeaders, url, socket: connection } = request;
    const headers = pickCredentials(rawHeaders);
    const certificate = connection instanceof TLSSocket ? certificateOf(connection) : undefined;
    const refuse = (error: unknown): never => {
      const reason = String(FabricError.from(error).details.reason ?? 'error');
      const credential = kindOf(headers, certificate);
      this.#options.observer.authFailed(credential, reason);
      this.#options.onDenied(credential, reason, seen.trace.trace_id);
      seen.fail(error, credential);
      throw error;
    };
    try {
      const { authenticator } = this.#options;
      const about = { transport, headers, url, connection, certificate };
      const proven = authenticator.authenticate(about);
      return proven instanceof Promise ? proven.catch(refuse) : proven;
    } catch (error) {
      return refuse(error);
    }
  }

  /** For what stays open: it is not authenticated again. */
  #endWithCredential(
    connection: Socket | ServerResponse,
    principal: Principal,
    end: () => void,
  ): void {
    this.#stale.add(connection, principal, end);
    connection.once('close', () => this.#stale.remove(connection));
  }

  #observe(request: IncomingMessage, transport: 'http' | 'ws'): ActiveRequest {
    const { headers, method } = request;
    return this.#options.observer.requestStarted({ face: 'http', transport, headers, method });
  }

  #probe(request: IncomingMessage, path: string, seen: ActiveRequest) {
    const authenticate = () => this.#authenticate(request, 'http', seen);
    return answerProbe(request, path, this.#options, authenticate);
  }
}

/** What was answered decides, where no failure was noted. */
function endWith(response: ServerResponse, seen: ActiveRequest): void {
  if (!response.writableEnded) seen.fail(failure('client_gone'));
  else if (response.statusCode >= 400) seen.fail(fromStatus(response.statusCode));
  seen.end();
}

/** To parse and serve a body of this length takes a moment, which others should not have to wait for. */
const LARGE_LENGTH = 256 * 1024;

/** One that does not say how long it is may be. */
function mayBeLarge({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? LARGE_LENGTH) >= LARGE_LENGTH;
}

/** The path itself, else a route that serves what is below it. */
function findRoute(routes: Routes, url: URL): Route {
  const { pathname } = url;
  if (Object.hasOwn(routes, pathname)) return findAt(routes, url);
  const above = Object.keys(routes).find(
    (path) => routes[path]?.isTree === true && pathname.startsWith(`${path}/`),
  );
  return (above === undefined ? undefined : routes[above]) ?? findAt(routes, url);
}

/** Who serves this path. */
function findAt<T>(table: Readonly<Record<string, T>>, { pathname }: URL): T {
  const found = Object.hasOwn(table, pathname) ? table[pathname] : undefined;
  if (found) return found;
  throw failure('not_found', { path: pathname.slice(0, 100) });
}
