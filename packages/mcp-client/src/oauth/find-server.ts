// Which authorization server gives tokens for an agent. An agent may name only a server on its own
// origin or the one that the manifest names: otherwise it could have our secret sent anywhere. An agent
// of revision 2025-03-26 may have no metadata at all; its own origin then serves the usual paths.

import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthProtectedResourceMetadata,
  resourceUrlFromServerUrl,
} from '@modelcontextprotocol/client';
import { isLoopback } from '@starloom/core';
import { failure } from '../reasons.ts';
import { asksForDpop } from './dpop.ts';
import type { OauthOptions } from './options.ts';

export interface TokenServer {
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
  /** Whom the tokens are for (RFC 8707), exactly as the agent wrote it. */
  readonly resource: string;
  readonly scope: string | undefined;
  /** Tokens are bound to a key of ours. */
  readonly isBound: boolean;
}

export async function findTokenServer(
  uri: string,
  options: OauthOptions,
  fetchFn: FetchLike,
): Promise<TokenServer> {
  const found = await findResource(uri, fetchFn);
  const issuer = chooseIssuer(uri, options, found.metadata);
  const metadata =
    (await discoverAuthorizationServerMetadata(issuer, { fetchFn })) ??
    usualEndpoints(uri, issuer, options, found);
  if (metadata === undefined) throw failure('no_authorization_server', { issuer });
  const endpoints = [metadata.token_endpoint, metadata.authorization_endpoint];
  if (!endpoints.every(isSecure)) throw failure('insecure_endpoint', { issuer });
  const scopes = found.scope ?? found.metadata?.scopes_supported?.join(' ');
  return {
    issuer: metadata.issuer,
    metadata,
    resource: resourceOf(uri, found.metadata),
    scope: options.scope ?? (scopes === '' ? undefined : scopes),
    isBound: options.dpop ?? found.isBound,
  };
}

/**
 * Revision 2025-03-26, where neither the agent nor its origin has metadata: a login goes to the paths
 * that it names. Never a server elsewhere, and PKCE, `resource` and the issuer are checked as usual.
 */
function usualEndpoints(
  uri: string,
  issuer: string,
  { grant }: OauthOptions,
  { hasMetadata }: Resource,
): AuthorizationServerMetadata | undefined {
  const { origin } = new URL(uri);
  if (hasMetadata || grant !== 'authorization_code' || !isSame(issuer, origin)) return undefined;
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  };
}

const PROBE_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
/** An agent without a token for it refuses this; one that serves anyone answers. */
const PROBE = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' });

interface Resource {
  readonly metadata: OAuthProtectedResourceMetadata | undefined;
  /** It has some, or says so. */
  readonly hasMetadata: boolean;
  readonly scope: string | undefined;
  /** It takes only tokens that are bound to a key. */
  readonly isBound: boolean;
}

/** Where the agent says so when it refuses a request, else at the well-known place. */
async function findResource(uri: string, fetchFn: FetchLike): Promise<Resource> {
  const refusal = await fetchFn(uri, { method: 'POST', headers: PROBE_HEADERS, body: PROBE });
  const { resourceMetadataUrl, scope } =
    refusal.status === 401 ? extractWWWAuthenticateParams(refusal) : {};
  if (resourceMetadataUrl && resourceMetadataUrl.origin !== new URL(uri).origin) {
    throw failure('metadata_origin', { origin: resourceMetadataUrl.origin });
  }
  const metadata = await readResource(uri, fetchFn, resourceMetadataUrl);
  const isAsked = refusal.status === 401 && asksForDpop(refusal.headers.get('www-authenticate'));
  return {
    metadata,
    hasMetadata: (metadata ?? resourceMetadataUrl) !== undefined,
    scope,
    isBound: isAsked || metadata?.dpop_bound_access_tokens_required === true,
  };
}

/** `undefined` where there is none. */
async function readResource(
  uri: string,
  fetchFn: FetchLike,
  resourceMetadataUrl?: URL,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  let status = 0;
  const watched: FetchLike = async (url, init) => {
    const response = await fetchFn(url, init);
    status = response.status;
    return response;
  };
  const where = resourceMetadataUrl ? { resourceMetadataUrl } : {};
  try {
    return await discoverOAuthProtectedResourceMetadata(uri, where, watched);
  } catch (error) {
    if (status >= 400 && status < 500) return undefined;
    throw error;
  }
}

function chooseIssuer(
  uri: string,
  { issuer, client_id, grant }: OauthOptions,
  metadata: OAuthProtectedResourceMetadata | undefined,
): string {
  const { origin } = new URL(uri);
  const named = metadata?.authorization_servers ?? [];
  if (issuer !== undefined) {
    if (named.length === 0 || named.some((each) => isSame(each, issuer))) return issuer;
    const fix = 'correct oauth.issuer in endpoint.options';
    throw failure('foreign_issuer', { issuer: named[0]?.slice(0, 300), fix });
  }
  if (named.length === 0) return origin;
  const own = named.find((each) => URL.parse(each)?.origin === origin);
  if (own !== undefined) return own;
  // A login without a client of ours has no secret that could go to the wrong server.
  const hasNoSecret = grant === 'authorization_code' && client_id === undefined;
  if (hasNoSecret && isSecure(named[0])) return named[0] ?? origin;
  throw failure('foreign_issuer', { issuer: named[0]?.slice(0, 300) });
}

function isSame(a: string, b: string): boolean {
  return a.replace(/\/$/, '') === b.replace(/\/$/, '');
}

function resourceOf(uri: string, metadata: OAuthProtectedResourceMetadata | undefined): string {
  const requestedResource = resourceUrlFromServerUrl(uri);
  if (metadata === undefined) return requestedResource.href;
  const configuredResource = metadata.resource;
  if (checkResourceAllowed({ requestedResource, configuredResource })) {
    return configuredResource;
  }
  throw failure('resource_mismatch');
}

/** Without TLS only on this machine. */
export function isSecure(endpoint: string | undefined): boolean {
  const url = URL.parse(endpoint ?? '');
  if (url === null) return endpoint === undefined;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(host));
}
