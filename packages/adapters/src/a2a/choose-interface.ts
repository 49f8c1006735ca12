// Which interface of a card is used. A card is foreign: it may point anywhere, also to services of
// ours. Only the origin of the manifest counts, and those that the manifest names besides.

import { FabricError, isLoopback } from '@starloom/core';
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
  return new FabricError('CAPABILITY_NOT_FOUND', 'The agent card names no interface we speak', {
    details: {
      reason: 'no_interface',
      sent: false,
      offered,
      fix:
        binding === undefined
          ? 'let the agent serve A2A 1.0 or 0.3 over JSON-RPC, REST or gRPC'
          : `remove endpoint.options.binding, or let the agent serve ${binding}`,
    },
  });
}

function elsewhere(spoken: readonly CardInterface[]): FabricError {
  const urls = spoken.map(({ url }) => url.replace(/[?#].*$/s, '').slice(0, 200));
  return new FabricError('POLICY_DENIED', 'The agent card points to another origin', {
    details: {
      reason: 'card_points_elsewhere',
      sent: false,
      urls,
      fix: 'name the origin in endpoint.options.origins, or the right address in endpoint.options.url',
    },
  });
}
