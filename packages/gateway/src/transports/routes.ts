// What is served at which path, and how.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Trace } from '@starloom/core';
import {
  JWKS_MAX_AGE_S,
  mayAdministrate,
  type Principal,
  type ProtectedResource,
} from '@starloom/identity';
import type { Refusal, RefusalDialect } from '@starloom/wire';
import {
  type ActiveRequest,
  type Face,
  METRICS_CONTENT_TYPE,
  type Observer,
} from '../observe/observer.ts';
import { failure } from '../reasons.ts';

export type Routes = Readonly<Record<string, Route>>;
/** By path: who serves a checked WebSocket upgrade. */
export type UpgradeRoutes = Readonly<Record<string, (upgrade: Upgrade) => void>>;

/** What is done with requests to one path. */
export interface Route {
  /** Throws what is wrong with the JSON of a POST. */
  readonly assertBody?: (body: unknown) => void;
  /** Takes a POST without a body, too. */
  readonly mayBeEmpty?: boolean;
  /** Serves a checked request. */
  readonly serve: (exchange: HttpRequest) => Promise<void>;
  /** What the path is for, as the log names it. */
  readonly face: Face;
  /** How refusals are written, at this path and below it. */
  readonly dialect: RefusalDialect;
  /** Serves every path below it, too. */
  readonly isTree?: boolean;
  /** Throws for a POST whose media type is not taken; by default anything but plain JSON. */
  readonly assertMediaType?: (request: IncomingMessage) => void;
  /** Writes refusals in place of the dialect. */
  readonly toRefusal?: (
    error: unknown,
    id: string | number | null,
    at: URL | null,
    trace: Trace,
  ) => Refusal;
}

export interface HttpRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal;
  readonly url: URL;
  /** The parsed body of a POST. */
  readonly body: unknown;
  /** Its length, as text. */
  readonly bytes: number;
  /** How it is observed. */
  readonly seen: ActiveRequest;
  /** It stays open for as long as the client likes: a shutdown does not wait for it. */
  readonly detach: () => void;
}

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly principal: Principal;
  readonly url: URL;
}

/** The path itself, else a route that serves what is below it. */
export function findRoute(routes: Routes, url: URL): Route {
  const { pathname } = url;
  if (Object.hasOwn(routes, pathname)) return findAt(routes, url);
  const above = Object.keys(routes).find(
    (path) => routes[path]?.isTree === true && pathname.startsWith(`${path}/`),
  );
  return (above === undefined ? undefined : routes[above]) ?? findAt(routes, url);
}

/** Who serves this path. */
export function findAt<T>(table: Readonly<Record<string, T>>, { pathname }: URL): T {
  const found = Object.hasOwn(table, pathname) ? table[pathname] : undefined;
  if (found) return found;
  throw failure('not_found', { path: pathname.slice(0, 100) });
}

/** The route that a path belongs to, served there or not. */
export function routeAbove(routes: Routes, target: URL | null): Route | undefined {
  const path = target?.pathname ?? '';
  const found = Object.entries(routes).find(([at]) => path === at || path.startsWith(`${at}/`));
  return found?.[1];
}

// Probes: answers for machines that look after the process, and the public keys. Those with data need a
// key from afar.

export interface ProbeOptions {
  readonly observer: Observer;
  /** The public keys of the realm as JSON; anyone may read them. */
  readonly jwks?: (() => string) | undefined;
  /** Shows OAuth clients how to get a token; without it none is accepted. */
  readonly resource?: ProtectedResource | undefined;
  /** Why this gateway should get no requests; `undefined` when all is well. */
  readonly unready: () => string | undefined;
}

const JWKS_PATH = '/.well-known/jwks.json';
/** Nearly every request is for another path. */
export const PROBES: ReadonlySet<string> = new Set([
  '/livez',
  '/healthz',
  '/readyz',
  '/metrics',
  JWKS_PATH,
]);
export const RESOURCE_PATH = '/.well-known/oauth-protected-resource';
const RESOURCE_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'public, max-age=300',
};
const JWKS_HEADERS = {
  'content-type': 'application/jwk-set+json',
  'cache-control': `public, max-age=${JWKS_MAX_AGE_S}`,
};

/** `undefined` when it is none after all. */
export async function answerProbe(
  request: IncomingMessage,
  pathname: string,
  { observer, jwks, resource, unready }: ProbeOptions,
  authenticate: () => Principal | Promise<Principal>,
) {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
  const text = { 'content-type': 'text/plain; charset=utf-8' };
  switch (pathname) {
    case '/livez':
    case '/healthz':
      return { status: 200, headers: text, body: 'ok\n' };
    case '/readyz': {
      const reason = unready();
      return { status: reason ? 503 : 200, headers: text, body: `${reason ?? 'ready'}\n` };
    }
    case '/metrics':
      if (!isLocalPeer(request)) assertMayRead(await authenticate());
      return {
        status: 200,
        headers: { 'content-type': METRICS_CONTENT_TYPE },
        body: observer.metricsText(),
      };
    case JWKS_PATH: {
      const body = jwks?.();
      return body === undefined ? undefined : { status: 200, headers: JWKS_HEADERS, body };
    }
    default: {
      const body = resource?.document(pathname);
      return body === undefined ? undefined : { status: 200, headers: RESOURCE_HEADERS, body };
    }
  }
}

function assertMayRead(principal: Principal): void {
  if (mayAdministrate(principal, 'metrics')) return;
  throw failure('scope/metrics');
}

/** From this machine and not through a proxy. */
function isLocalPeer({ socket, headers }: IncomingMessage): boolean {
  const forwarded = headers['x-forwarded-for'] ?? headers.forwarded ?? headers.via;
  const { remoteAddress = '' } = socket;
  return forwarded === undefined && /^(?:127\.|::1$|::ffff:127\.)/.test(remoteAddress);
}
