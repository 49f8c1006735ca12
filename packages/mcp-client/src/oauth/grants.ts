// Tokens that the gateway obtains by itself: with credentials of its own, or with a JWT that stands for
// its workload or for a person of the company. The caller's own credentials are never passed on.

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import {
  type AddClientAuthentication,
  type AuthorizationServerMetadata,
  type FetchLike,
  fetchToken,
  type OAuthTokens,
} from '@modelcontextprotocol/client';
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose';
import { failure } from '../reasons.ts';
import { type AccessToken, assertUsable, type ObtainToken, renewalOf } from './access-tokens.ts';
import { keyAuthentication, namedClient, type OauthClient, toClientInformation } from './client.ts';
import { createDpop, type DpopSession } from './dpop.ts';
import { tokenFailure } from './failures.ts';
import type { TokenServer } from './find-server.ts';
import type { OauthOptions } from './options.ts';

export interface GrantOptions {
  readonly agentId: string;
  readonly uri: string;
  readonly oauth: OauthOptions;
  readonly fetch: FetchLike;
  readonly server: () => Promise<TokenServer>;
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';

export function clientCredentials(options: GrantOptions): ObtainToken {
  const { private_key } = options.oauth;
  const name = private_key === undefined ? 'client_secret' : 'private_key';
  return ownGrant(options, {
    params: async () => ({ grant_type: 'client_credentials' }),
    fix: `check oauth.client_id and oauth.${name} in endpoint.options`,
  });
}

/** RFC 7523 with the JWT of the workload, or with what an identity provider gives for an ID token. */
export function jwtBearer(options: GrantOptions): ObtainToken {
  const { assertion_file: file = '', idp_token_endpoint: identityProvider } = options.oauth;
  return ownGrant(options, {
    params: async (server) => {
      const given = await readAssertion(file);
      const assertion =
        identityProvider === undefined
          ? given
          : await exchangeIdToken(options, { server, identityProvider, idToken: given });
      return { grant_type: JWT_BEARER, assertion };
    },
    fix: 'check whom the authorization server trusts, and the JWT in oauth.assertion_file',
  });
}

interface Grant {
  readonly params: (server: TokenServer) => Promise<Readonly<Record<string, string>>>;
  /** When the server refuses. */
  readonly fix: string;
}

function ownGrant({ oauth, fetch, server }: GrantOptions, { params, fix }: Grant): ObtainToken {
  const authentication = keyAuthentication(oauth);
  let session: Promise<DpopSession> | undefined;
  return async () => {
    try {
      const found = await server();
      const { metadata, resource, scope, isBound } = found;
      if (isBound) session ??= createDpop();
      const dpop = isBound ? await session : undefined;
      const asked = { ...(await params(found)), ...(scope !== undefined && { scope }) };
      const client = namedClient(oauth);
      const about = { metadata, resource, client, authentication, dpop, fetch };
      return toToken(await requestTokens(asked, about), dpop);
    } catch (error) {
      throw tokenFailure(error, fix);
    }
  };
}

interface Exchange {
  readonly server: TokenServer;
  readonly identityProvider: string;
  readonly idToken: string;
}

/** Enterprise-managed authorization: the identity provider of the company decides on the access. */
async function exchangeIdToken(
  { oauth, fetch }: GrantOptions,
  { server, identityProvider, idToken }: Exchange,
): Promise<string> {
  const { idp_client_id: client_id = '', idp_client_secret: client_secret } = oauth;
  const { issuer, resource, scope } = server;
  const params = {
    grant_type: TOKEN_EXCHANGE,
    requested_token_type: ID_JAG,
    audience: issuer,
    subject_token: idToken,
    subject_token_type: ID_TOKEN,
    ...(scope !== undefined && { scope }),
  };
  try {
    const metadata = tokenEndpointAt(identityProvider);
    const client = { client_id, client_secret };
    const about = { metadata, resource, client, fetch };
    const { access_token: grant } = await requestTokens(params, about);
    assertIdJag(grant);
    return grant;
  } catch (error) {
    throw tokenFailure(error, 'check oauth.idp_client_id, and the policy of the identity provider');
  }
}

/** The operator names the endpoint itself: there is nothing to find out. */
function tokenEndpointAt(endpoint: string): AuthorizationServerMetadata {
  return {
    issuer: new URL(endpoint).origin,
    authorization_endpoint: endpoint,
    token_endpoint: endpoint,
    response_types_supported: [],
  };
}

function assertIdJag(grant: string): void {
  try {
    if (decodeProtectedHeader(grant).typ === 'oauth-id-jag+jwt') return;
  } catch {
    // No JWT at all.
  }
  throw failure('bad_grant');
}

interface TokenRequest {
  readonly metadata: AuthorizationServerMetadata;
  readonly resource: string;
  readonly client: OauthClient | undefined;
  readonly authentication?: AddClientAuthentication | undefined;
  readonly dpop?: DpopSession | undefined;
  readonly fetch: FetchLike;
}

async function requestTokens(
  params: Readonly<Record<string, string>>,
  { metadata, resource, client, authentication, dpop, fetch }: TokenRequest,
): Promise<OAuthTokens> {
  const { issuer } = metadata;
  const provider = {
    redirectUrl: undefined,
    clientMetadata: { redirect_uris: [] },
    clientInformation: () => client && { ...toClientInformation(client), issuer },
    prepareTokenRequest: () => new URLSearchParams(params),
    ...(authentication && { addClientAuthentication: authentication }),
    ...(dpop && { dpop: () => dpop }),
    // Of flows that are not this one.
    tokens: () => undefined,
    saveTokens: () => {},
    redirectToAuthorization: () => {},
    saveCodeVerifier: () => {},
    codeVerifier: () => '',
  };
  return await fetchToken(provider, issuer, { metadata, resource, fetchFn: fetch });
}

export function toToken(tokens: OAuthTokens, dpop: DpopSession | undefined): AccessToken {
  assertUsable(tokens, { isBound: dpop !== undefined });
  return { value: tokens.access_token, dpop, renewAt: renewalOf(tokens) };
}

const MAX_BYTES = 16_384;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** A pipe must not hold up the call. */
const READ_ONLY = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * The JWT that a platform writes for its workload, or single sign-on for a person. It is short-
 * lived and replaced in place, so it is read for every token. Only what has the form of a JWT
 * leaves this machine: a path that names another file by mistake, or by intent, discloses nothing.
 * Throws AUTH_DENIED, without the path: that is for the operator's eyes.
 */
async function readAssertion(path: string): Promise<string> {
  const text = (await readSmallFile(path)).trim();
  if (!JWT.test(text)) throw failure('assertion_invalid');
  const { exp: expires } = claimsIn(text);
  if (typeof expires === 'number' && expires * 1000 <= Date.now()) {
    throw failure('assertion_expired');
  }
  return text;
}

function claimsIn(jwt: string): JWTPayload {
  try {
    return decodeJwt(jwt);
  } catch {
    throw failure('assertion_invalid');
  }
}

async function readSmallFile(path: string): Promise<string> {
  try {
    await using file = await open(path, READ_ONLY);
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error('not a file');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES + 1));
    if (bytesRead > MAX_BYTES) throw new Error('too large');
    return buffer.toString('latin1', 0, bytesRead);
  } catch {
    throw failure('assertion_missing');
  }
}
