// Which places a manifest trusts. What its card says beyond that is judged by the address guard.

import { isIP } from 'node:net';
import { FabricError, isLoopback } from '@starloom/core';
import { type AddressGuard, createAddressGuard } from '@starloom/wire';
import type { A2aOptions } from './options.ts';

/** The origins that a manifest trusts, each as `scheme://host:port`. */
export function trustedOrigins(uri: URL, { origins, url }: A2aOptions): ReadonlySet<string> {
  const given = url === undefined ? [] : [toOrigin(new URL(url))];
  return new Set([...sameOrigins(uri), ...given, ...origins.map((text) => parseOrigin(text))]);
}

/** This machine has several names, and agents on it write one or another into their cards. */
function sameOrigins({ protocol, hostname, port, origin }: URL): readonly string[] {
  if (!isLoopback(hostname.replace(/^\[|\]$/g, ''))) return [origin];
  const end = port === '' ? '' : `:${port}`;
  return [origin, ...LOOPBACK_HOSTS.map((host) => `${protocol}//${host}${end}`)];
}

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]', '0.0.0.0'];

/** Other schemes than those of the web have no origin of their own. */
function toOrigin(url: URL): string {
  return /^https?:$/.test(url.protocol) ? url.origin : `${url.protocol}//${url.host.toLowerCase()}`;
}

function parseOrigin(text: string): string {
  const url = URL.parse(text);
  const isPlain =
    url?.username === '' && /^\/?$/.test(url.pathname + url.search) && !/[*]/.test(text);
  if (url && isPlain && /^https?:$/.test(url.protocol)) return toOrigin(url);
  if (url && isPlain && /^grpcs?:$/.test(url.protocol) && url.port !== '') return toOrigin(url);
  throw new FabricError('BAD_INPUT', 'An entry of endpoint.options.origins is no origin', {
    details: {
      reason: 'bad_options',
      problems: [`options.origins: ${text.slice(0, 200)}`],
      fix: 'write https://host, http://host:port, grpc://host:port or grpcs://host:port',
    },
  });
}

/** Lets names through that lead to public addresses, and what the manifest itself names. */
export function createCardGuard(
  uri: URL,
  origins: ReadonlySet<string>,
  { allow_private: allowPrivate, url }: A2aOptions,
): AddressGuard {
  const given = url === undefined ? [] : [new URL(url).hostname];
  const allow = [...trustedHosts(uri, origins), ...given];
  return createAddressGuard({ allow, allowPrivate });
}

/** Hosts that may be dialled wherever they are: that of the manifest, and addresses it names. */
function trustedHosts(uri: URL, origins: ReadonlySet<string>): string[] {
  const named = Array.from(origins, (origin) => new URL(origin).hostname);
  const literal = named.filter(
    (host) => isIP(host.replace(/^\[|\]$/g, '')) !== 0 || host === 'localhost',
  );
  return [uri.hostname, ...literal];
}
