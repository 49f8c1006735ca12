// Against DNS rebinding and other pages of a browser: the Host must be one we serve under, and a
// request with an Origin must come from such a host too. Covers every route and every upgrade.

import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { FabricError } from '@starloom/core';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]', '::1'];

/** Host names (without port) that requests may carry when we listen on `host`. */
export function allowedHosts(host: string): ReadonlySet<string> {
  return new Set([...LOOPBACK, host.toLowerCase(), `[${host.toLowerCase()}]`]);
}

/** Refuses with POLICY_DENIED what a foreign page could have sent. */
export function assertSameSite(
  headers: IncomingHttpHeaders,
  allowed: ReadonlySet<string>,
  listensOnAll: boolean,
): void {
  const host = hostOf(headers.host ?? '');
  if (!isAllowed(host, allowed, listensOnAll)) throw refused('host', 'Host');
  if (headers.origin === undefined) return;
  const origin = URL.parse(headers.origin)?.hostname.toLowerCase();
  if (origin === undefined || !isAllowed(origin, allowed, false)) {
    if (!listensOnAll || origin !== host) throw refused('origin', 'Origin');
  }
}

/** On all interfaces we cannot know our names, but a rebound name is never an IP address. */
function isAllowed(host: string, allowed: ReadonlySet<string>, listensOnAll: boolean): boolean {
  if (allowed.has(host)) return true;
  return listensOnAll && isIP(host.replace(/^\[|\]$/g, '')) !== 0;
}

function hostOf(header: string): string {
  return header.toLowerCase().replace(/:\d*$/, '');
}

function refused(reason: string, header: string): FabricError {
  return new FabricError('POLICY_DENIED', `The ${header} header is not one of this gateway`, {
    details: { reason, fix: 'call the gateway by the address it listens on' },
  });
}
