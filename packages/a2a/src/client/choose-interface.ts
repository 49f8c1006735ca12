// Which interface of a card is used. A card is foreign: it may point anywhere, also to services of
// ours. Only the origin of the manifest counts, and those that the manifest names besides.

import { isIP } from 'node:net';
import { type FabricError, isLoopback } from '@starloom/core';
import { type AddressGuard, createAddressGuard } from '@starloom/wire';
import { failure } from '../reasons.ts';
import type { CardInterface, CardView } from './agent-card.ts';
import { type A2aOptions, BINDINGS } from './options.ts';

export interface ChosenInterface extends CardInterface {
  /** Of gRPC: `host:port` to dial. */
  readonly authority?: string;
  readonly isEncrypted: boolean;
}

/** POLICY_DENIED when all that is spoken lies elsewhere; CAPABILITY_NOT_FOUND when nothing is. */
export function chooseInterface(
  { interfaces }: CardView,
  { binding, version, url }: A2aOptions,
  origins: ReadonlySet<string>,
): ChosenInterface {
  const spoken = ofVersion(interfaces, version)
    .filter((one) => isKnownBinding(one.binding) && ['1.0', '0.3'].includes(one.version))
    .filter((one) => binding === undefined || one.binding === BINDINGS[binding]);
  if (spoken.length === 0) throw noneSpoken(interfaces, binding);
  const judged = spoken.map((one) => locate(url === undefined ? one : { ...one, url }));
  const permitted = judged.flatMap((one) =>
    one !== undefined && origins.has(originOf(one)) ? one : [],
  );
  const [first] = permitted;
  if (!first) throw elsewhere(spoken);
  const newest = permitted.find((one) => one.binding === first.binding && one.version === '1.0');
  return newest ?? first;
}

/** Those of the version that the manifest names; all of them as such where the card has none. */
function ofVersion(interfaces: readonly CardInterface[], version: string | undefined) {
  if (version === undefined) return interfaces;
  const named = interfaces.filter((one) => one.version === version);
  return named.length > 0 ? named : interfaces.map((one) => ({ ...one, version }));
}

function isKnownBinding(binding: string): boolean {
  return Object.values(BINDINGS).some((known) => known === binding);
}

function locate(one: CardInterface): ChosenInterface | undefined {
  return one.binding === BINDINGS.grpc ? locateGrpc(one) : locateHttp(one);
}

function locateHttp(one: CardInterface): ChosenInterface | undefined {
  const url = URL.parse(one.url);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    return undefined;
  }
  return { ...one, isEncrypted: url.protocol === 'https:' };
}

/** `host:port` as 1.0 writes it, or a URL as older cards do. Other schemes of gRPC are not used. */
function locateGrpc(one: CardInterface): ChosenInterface | undefined {
  const isBare = !one.url.includes('://');
  const url = URL.parse(isBare ? `grpc://${one.url}` : one.url);
  if (!url || !/^(grpcs?|https?):$/.test(url.protocol) || url.username !== '') return undefined;
  if (isBare && !/^(\[[0-9a-f:.]+\]|[^/:]+):\d+$/i.test(one.url)) return undefined;
  const isSecure = /^(grpcs|https):$/.test(url.protocol);
  const port = url.port || (isSecure ? '443' : '80');
  const isEncrypted = isSecure || (isBare && !isLoopback(url.hostname.replace(/^\[|\]$/g, '')));
  return { ...one, authority: `${url.hostname.toLowerCase()}:${port}`, isEncrypted };
}

function originOf({ url, authority, isEncrypted }: ChosenInterface): string {
  if (authority === undefined) return new URL(url).origin;
  return `${isEncrypted ? 'grpcs' : 'grpc'}://${authority}`;
}

function noneSpoken(interfaces: readonly CardInterface[], binding: string | undefined) {
  const offered = interfaces.map((one) => `${one.binding} ${one.version}`.slice(0, 64));
  const fix = binding && `remove "binding" of the agent, or let the agent serve ${binding}`;
  return failure('no_interface', { offered, fix });
}

function elsewhere(spoken: readonly CardInterface[]): FabricError {
  const urls = spoken.map(({ url }) => url.replace(/[?#].*$/s, '').slice(0, 200));
  return failure('card_points_elsewhere', { urls });
}

/**
 * The origins that a manifest trusts, each as `scheme://host:port`. The address guard judges what its card
 * names beyond that.
 */
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
  throw failure('bad_options/origin', { problems: [`options.origins: ${text.slice(0, 200)}`] });
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
