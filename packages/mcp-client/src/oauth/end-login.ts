// Ends the login of a person: the server revokes the tokens where it can (RFC 7009), and they are removed
// from this machine in any case.

import type { AddClientAuthentication } from '@modelcontextprotocol/client';
import { FabricError } from '@starloom/core';
import type { GuardedFetch } from '@starloom/wire';
import { createTokenFetch } from './authorization.ts';
import type { LoginOptions } from './begin-login.ts';
import { keyAuthentication } from './client.ts';
import { findTokenServer, isSecure, type TokenServer } from './find-server.ts';
import { type StoredTokens, TokenFile } from './token-file.ts';

export type LogoutOptions = Pick<LoginOptions, 'agentId' | 'uri' | 'oauth' | 'stateFolder'>;

export interface Logout {
  /** Whether there was a login. */
  readonly wasLoggedIn: boolean;
  /** Whether the server revoked the tokens; `false` where it cannot, or did not answer. */
  readonly isRevoked: boolean;
}

export async function endLogin({
  agentId,
  uri,
  oauth,
  stateFolder,
}: LogoutOptions): Promise<Logout> {
  const file = new TokenFile(stateFolder, agentId);
  return await file.locked(async () => {
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
