// What is served at which path, and how.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Trace } from '@starloom/core';
import {
  type Authenticator,
  JWKS_MAX_AGE_S,
  mayAdministrate,
  type Principal,
  type ProtectedResource,
} from '@starloom/identity';
import type { Refusal, RefusalDialect } from '@starloom/wire';
import type { Console } from '../console/console.ts';
import type { InFlight } from '../in-flight.ts';
import type { InboundWebhooks } from '../inbound-webhooks.ts';
import {
  type ActiveRequest,
  type Face,
  METRICS_CONTENT_TYPE,
  type Observer,
} from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import type { TlsFiles } from './listener.ts';
import type { HeldBytes } from './reply.ts';

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

export interface HttpOptions extends ProbeOptions {
  readonly host: string;
  readonly port: number;
  /** By which clients may ask for it besides. */
  readonly names: readonly string[];
  readonly bodyBytes: number;
  /** Encrypts the port; without it requests come as they are. */
  readonly certificates?: TlsFiles | undefined;
  readonly socketsPerPrincipal: number;
  readonly held: HeldBytes;
  readonly authenticator: Authenticator;
  /** Requests count from their head until their answer has left. */
  readonly inFlight: InFlight;
  /** A credential was refused. */
  readonly onDenied: (credential: string, reason: string, traceId: string) => void;
  /** Of agents; each has a token of its own instead of a key. */
  readonly webhooks: Pick<InboundWebhooks, 'take'>;
  /** Its files need no credential, and its requests bring a cookie. */
  readonly console?: Console | undefined;
  readonly routes: Routes;
  readonly upgrades: UpgradeRoutes;
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
