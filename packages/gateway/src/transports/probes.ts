// Answers for machines that look after the process, and the public keys; those with data need a key from
// afar.

import type { IncomingMessage } from 'node:http';
import { FabricError } from '@starloom/core';
import {
  JWKS_MAX_AGE_S,
  mayAdministrate,
  type Principal,
  type ProtectedResource,
} from '@starloom/identity';
import { METRICS_CONTENT_TYPE, type Observer } from '../observe/observer.ts';

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
const RESOURCE_PATH = '/.well-known/oauth-protected-resource';
const RESOURCE_HEADERS = {
  'content-type': 'application/json',
  'cache-control': 'public, max-age=300',
};
const JWKS_HEADERS = {
  'content-type': 'application/jwk-set+json',
  'cache-control': `public, max-age=${JWKS_MAX_AGE_S}`,
};

export function isProbe(path: string): boolean {
  return PROBES.has(path) || path.startsWith(RESOURCE_PATH);
}

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
  throw new FabricError('POLICY_DENIED', 'This key may not read metrics', {
    details: { reason: 'scope', fix: 'use a key with the scope admin:metrics' },
  });
}

/** From this machine and not through a proxy. */
function isLocalPeer({ socket, headers }: IncomingMessage): boolean {
  const forwarded = headers['x-forwarded-for'] ?? headers.forwarded ?? headers.via;
  const { remoteAddress = '' } = socket;
  return forwarded === undefined && /^(?:127\.|::1$|::ffff:127\.)/.test(remoteAddress);
}
