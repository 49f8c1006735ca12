import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { failure } from './reasons.ts';

/** Refuses with POLICY_DENIED what a foreign page could have sent to a server that listens on `host`. */
export type BrowserGuard = (headers: IncomingHttpHeaders) => void;

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]', '::1'];
const ALL = ['0.0.0.0', '::'];

/**
 * Against DNS rebinding and other pages of a browser, for every route and every upgrade: the Host must be
 * one we serve under, and a request with an Origin must come from such a host too. `publicNames` are other
 * names that clients reach the server under, behind a proxy for one.
 */
export function createBrowserGuard(
  host: string,
  publicNames: readonly string[] = [],
): BrowserGuard {
  const own = [host, `[${host}]`, ...publicNames].map((name) => name.toLowerCase());
  const names = new Set([...LOOPBACK, ...own]);
  const isOnAll = ALL.includes(host);
  /** The Host of the last request that was let in: nearly always that of the next one. */
  let known: string | undefined;
  return (headers) => {
    const { host: given = '', origin: from } = headers;
    if (given === known && from === undefined) return;
    const asked = hostOf(given);
    if (!names.has(asked) && !(isOnAll && isAddress(asked))) throw failure('host');
    known = given;
    if (from === undefined) return;
    const origin = URL.parse(from)?.hostname.toLowerCase() ?? '';
    if (!names.has(origin) && !(isOnAll && origin === asked)) throw failure('origin');
  };
}

/** On all interfaces we cannot know our names, but a rebound name is never an IP address. */
function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[|\]$/g, '')) !== 0;
}

function hostOf(header: string): string {
  return header.toLowerCase().replace(/:\d*$/, '');
}
