// What a browser says of the page that sends a request, and the cookie of a session.

import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { isLoopback } from '@starloom/core';
import { failure } from '../reasons.ts';

/** Refuses what another page may have sent, also one of another port of this host. */
export function assertOwnPage({ headers }: IncomingMessage): void {
  const { origin, host = '', 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw failure('console_page');
  if (origin === undefined) return;
  const from = URL.parse(origin);
  const own = URL.parse(`${from?.protocol}//${host}`);
  if (!from || !own) throw failure('console_page');
  if (from.host === own.host) return;
  // Behind a proxy we may be asked under another name, which the guard of the gateway has checked.
  const isProxied = from.hostname !== own.hostname && !isLoopbackName(from.hostname);
  if (!isProxied) throw failure('console_page');
}

/** Where the page is, as the browser sees it. */
export function originOf(request: IncomingMessage): string {
  const { origin, host } = request.headers;
  return origin ?? `${request.socket instanceof TLSSocket ? 'https' : 'http'}://${host}`;
}

/** Browsers keep a `__Host-` cookie from other hosts and from plain connections; plain loopback has none. */
function cookieNameOf({ headers, socket }: IncomingMessage): string {
  const isPlain = !(socket instanceof TLSSocket);
  const { hostname = '' } = URL.parse(`http://${headers.host}`) ?? {};
  return isPlain && isLoopbackName(hostname) ? 'starloom' : '__Host-starloom';
}

export function isLoopbackName(hostname: string): boolean {
  return isLoopback(hostname.replace(/^\[|\]$/g, ''));
}

export function toCookie(request: IncomingMessage, value: string, seconds: number): string {
  const name = cookieNameOf(request);
  const secure = name.startsWith('__Host-') ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

export function cookieOf(request: IncomingMessage): string | undefined {
  const name = cookieNameOf(request);
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at !== -1 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}
