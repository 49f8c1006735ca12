// The login of a person: a link to open, and what to do with the answer that comes back to the
// redirect address. Tokens go into the state folder and nowhere else.

import { randomBytes, timingSafeEqual } from 'node:crypto';
import {
  type AddClientAuthentication,
  exchangeAuthorization,
  startAuthorization,
} from '@modelcontextprotocol/client';
import { FabricError } from '@starloom/core';
import type { GuardedFetch } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { createTokenFetch } from './authorization.ts';
import { findClient, keyAuthentication, toClientInformation } from './client.ts';
import { createDpopKey, openDpop } from './dpop.ts';
import { tokenFailure } from './failures.ts';
import { findTokenServer, isSecure, type TokenServer } from './find-server.ts';
import type { OauthOptions } from './options.ts';
import { type StoredTokens, TokenFile, toStored } from './personal-login.ts';

export interface LoginOptions {
  readonly agentId: string;
  readonly uri: string;
  /** With the values of its secrets. */
  readonly oauth: OauthOptions;
  readonly stateFolder: string;
  /** Beside the scopes that the manifest or the agent names, and those of the login before. */
  readonly scope?: string | undefined;
  /** Listens on this machine, on that port or any (0); the address that answers come to. */
  readonly listen: (port: number) => Promise<string>;
}

export interface Login extends AsyncDisposable {
  /** For the browser of the person. */
  readonly link: string;
  readonly issuer: string;
  /** Whether an answer carries the secret of this login; another one is not for us. */
  isOurs(answer: URLSearchParams): boolean;
  /** Trades the code of the answer for tokens and keeps them. Throws AUTH_DENIED. */
  finish(answer: URLSearchParams): Promise<void>;
}

export async function beginLogin(options: LoginOptions): Promise<Login> {
  const { agentId, uri, oauth, stateFolder, listen } = options;
  const tokenFile = new TokenFile(stateFolder, agentId);
  const http = createTokenFetch({ uri, oauth });
  const fix = 'begin again, and agree on the page of the server';
  const state = randomBytes(32).toString('base64url');
  try {
    const server = await findTokenServer(uri, oauth, http.fetch);
    const { issuer, metadata, resource } = server;
    const before = await tokenFile.read(uri, oauth.client_id);
    const scope = scopeToAsk(server, options.scope, before);
    if (!metadata.code_challenge_methods_supported?.includes('S256'))
      throw failure('no_pkce', { issuer });
    const redirectUri = await listen(oauth.redirect_port ?? 0);
    const about = { issuer, metadata, redirectUri, scope, fetchFn: http.fetch };
    const client = await findClient(oauth, about);
    const shared = { metadata, resource, clientInformation: toClientInformation(client) };
    const { authorizationUrl, codeVerifier } = await startAuthorization(issuer, {
      ...shared,
      redirectUrl: redirectUri,
      state,
      ...(scope !== undefined && { scope }),
    });
    const dpop_key = server.isBound ? await createDpopKey() : undefined;
    const dpop = dpop_key && (await openDpop(dpop_key));
    // Only the owner of the key can use the code (RFC 9449, section 10).
    if (dpop) authorizationUrl.searchParams.set('dpop_jkt', dpop.thumbprint);
    const authentication = keyAuthentication(oauth);
    return {
      link: authorizationUrl.href,
      issuer,
      isOurs: (answer) => isSame(answer.get('state') ?? '', state),
      finish: async (answer) => {
        const iss = answer.get('iss') ?? undefined;
        try {
          const tokens = await exchangeAuthorization(issuer, {
            ...shared,
            authorizationCode: codeIn(answer, fix),
            ...(iss !== undefined && { iss }),
            ...(authentication && { addClientAuthentication: authentication }),
            ...(dpop && { dpop }),
            codeVerifier,
            redirectUri,
            fetchFn: http.fetch,
          });
          await tokenFile.write(toStored(tokens, { uri, issuer, scope, dpop_key, client }));
        } catch (error) {
          throw tokenFailure(error, fix);
        }
      },
      [Symbol.asyncDispose]: () => http.close(),
    };
  } catch (error) {
    await http.close();
    throw tokenFailure(error, fix);
  }
}

/** More scopes come beside those of the login before: a new token replaces the old one. */
function scopeToAsk(
  { scope, issuer, metadata }: TokenServer,
  more: string | undefined,
  before: StoredTokens | undefined,
): string | undefined {
  const held = more !== undefined && before?.issuer === issuer ? before.scope : undefined;
  return withOfflineAccess(union(scope, held, more), metadata.scopes_supported);
}

/** Each scope once; `undefined` when there is none. */
function union(...scopes: (string | undefined)[]): string | undefined {
  const names = scopes.flatMap((scope) => scope?.split(' ') ?? []);
  return names.length === 0 ? undefined : [...new Set(names)].join(' ');
}

/** Where the server offers it: without a refresh token a person has to log in again and again. */
function withOfflineAccess(scope: string | undefined, offered: readonly string[] = []) {
  const asked = scope?.split(' ') ?? [];
  if (!offered.includes('offline_access') || asked.includes('offline_access')) return scope;
  return [...asked, 'offline_access'].join(' ');
}

function codeIn(answer: URLSearchParams, fix: string): string {
  const code = answer.get('code');
  if (code) return code;
  const error = answer.get('error') ?? '';
  const oauth_error = /^[a-z_]{1,64}$/.test(error) ? error : 'invalid_request';
  throw failure('login_refused', { oauth_error, fix });
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

export type LogoutOptions = Pick<LoginOptions, 'agentId' | 'uri' | 'oauth' | 'stateFolder'>;

export interface Logout {
  /** Whether there was a login. */
  readonly wasLoggedIn: boolean;
  /** Whether the server revoked the tokens; `false` where it cannot, or did not answer. */
  readonly isRevoked: boolean;
}

/**
 * Ends the login of a person: the server revokes the tokens where it can (RFC 7009), and they are
 * removed from this machine in any case.
 */
export async function endLogin(options: LogoutOptions): Promise<Logout> {
  const { agentId, uri, oauth, stateFolder } = options;
  const file = new TokenFile(stateFolder, agentId);
  return await file.withLock(async () => {
    const stored = await file.read(uri, oauth.client_id);
    if (!stored) return { wasLoggedIn: await file.remove(), isRevoked: false };
    const http = createTokenFetch({ uri, oauth });
    try {
      const server = await findTokenServer(uri, oauth, http.fetch);
      const isSame = server.issuer === stored.issuer;
      const client_secret = stored.client_secret ?? oauth.client_secret;
      const authenticate =
        keyAuthentication(oauth) ?? secretAuthentication(stored.client_id, client_secret);
      const isRevoked = isSame && (await revokeTokens(server, stored, authenticate, http));
      return { wasLoggedIn: true, isRevoked };
    } catch (error) {
      if (!FabricError.is(error) && !(error instanceof Error)) throw error;
      return { wasLoggedIn: true, isRevoked: false };
    } finally {
      await http.close();
      await file.remove();
    }
  });
}

async function revokeTokens(
  { metadata }: TokenServer,
  { client_id, access_token, refresh_token }: StoredTokens,
  authenticate: AddClientAuthentication,
  http: GuardedFetch,
): Promise<boolean> {
  const { revocation_endpoint: endpoint } = metadata as { revocation_endpoint?: string };
  if (endpoint === undefined || !isSecure(endpoint)) return false;
  const revoke = async (token: string, token_type_hint: string) => {
    const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' });
    const body = new URLSearchParams({ token, token_type_hint, client_id });
    await authenticate(headers, body, endpoint, metadata);
    const { status } = await http.fetch(endpoint, { method: 'POST', headers, body });
    return status === 200;
  };
  const isRefreshRevoked =
    refresh_token === undefined || (await revoke(refresh_token, 'refresh_token'));
  return (await revoke(access_token, 'access_token')) && isRefreshRevoked;
}

function secretAuthentication(id: string, secret: string | undefined): AddClientAuthentication {
  return (headers) => {
    if (secret === undefined) return;
    const basic = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(basic).toString('base64')}`);
  };
}
