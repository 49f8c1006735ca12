import { FabricError } from '@starloom/core';
import type { HttpHead } from '@starloom/wire';
import type { HttpRequest } from './http-caller.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * What a redirect asks for, or `undefined` when the response is none. Another host is not followed: a
 * call of it is judged like any other. Headers stay with the origin they were given for, and a body is
 * sent to no address that the caller did not name.
 */
export function nextRequest(
  request: HttpRequest,
  { status, headers: shown }: HttpHead,
): HttpRequest | undefined {
  const location = REDIRECTS.has(status) ? shown.location : undefined;
  if (location === undefined) return undefined;
  const from = new URL(request.url);
  const to = URL.parse(location, request.url);
  if (to === null) throw refused('bad_redirect', 'the server sent an address that is none');
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw refused('insecure_redirect', 'call the address with https, if there is one');
  }
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isRead && status !== 303) {
    throw refused('redirected_body', 'send the request to the address it leads to');
  }
  if (siteOf(from) !== siteOf(to)) {
    throw refused('redirected_host', `call ${to.href} itself, if that is what is wanted`);
  }
  const headers = from.origin === to.origin ? request.headers : {};
  return { method: isRead ? request.method : 'GET', url: to.href, headers };
}

function siteOf({ hostname }: URL): string {
  return hostname.replace(/^www\./, '');
}

function refused(reason: string, fix: string): FabricError {
  return new FabricError('POLICY_DENIED', 'The redirect was not followed', {
    details: { reason, fix },
  });
}
