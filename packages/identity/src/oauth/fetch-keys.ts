// Where the keys of an issuer are: at the address in the configuration, else where the metadata of the
// issuer says (OpenID Connect Discovery, RFC 8414). Only issuers of the configuration are asked, and
// nothing in a token chooses an address.

import { isLoopback } from '@starloom/core';
import type { GuardedFetch } from '@starloom/wire';
import { z } from 'zod';

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.url() });

export interface KeySource {
  readonly issuer: string;
  readonly jwks_uri?: string | undefined;
}

/** The key set as the issuer wrote it; throws when it cannot be had. */
export async function fetchKeys(source: KeySource, http: GuardedFetch): Promise<unknown> {
  const url = source.jwks_uri ?? (await findJwksUri(source.issuer, http));
  const keys = await getJson(url, http);
  if (keys === undefined) throw new Error(`there are no keys at ${url}`);
  return keys;
}

async function findJwksUri(issuer: string, http: GuardedFetch): Promise<string> {
  for (const url of metadataUrls(issuer)) {
    const document = await getJson(url, http);
    if (document === undefined) continue;
    const metadata = metadataSchema.parse(document);
    if (metadata.issuer !== issuer) throw new Error(`${url} is the metadata of another issuer`);
    if (!isSecure(metadata.jwks_uri)) throw new Error(`the jwks_uri of ${issuer} is not https`);
    return metadata.jwks_uri;
  }
  throw new Error(`${issuer} has no metadata; set jwks_uri`);
}

function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

async function getJson(url: string, http: GuardedFetch): Promise<unknown> {
  const response = await http.fetch(url, { headers: { accept: 'application/json' } });
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  return await response.json();
}

/** Without TLS only on this machine. */
export function isSecure(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(host));
}
