// The two ways to a token: with the credentials of the gateway itself, and with what a person's login
// left in the state folder. The caller's own credentials are never passed on.

import {
  ClientCredentialsProvider,
  type FetchLike,
  fetchToken,
  type OAuthTokens,
  refreshAuthorization,
} from '@modelcontextprotocol/client';
import {
  type AccessToken,
  assertBearer,
  isFresh,
  type ObtainToken,
  renewalOf,
} from './access-tokens.ts';
import { type OauthClient, toClientInformation } from './client.ts';
import { loginCommand, tokenDenied, tokenFailure } from './failures.ts';
import type { TokenServer } from './find-server.ts';
import type { OauthOptions } from './options.ts';
import type { StoredTokens, TokenFile } from './token-file.ts';

export interface GrantOptions {
  readonly agentId: string;
  readonly uri: string;
  readonly oauth: OauthOptions;
  readonly fetch: FetchLike;
  readonly server: () => Promise<TokenServer>;
}

/** How long a logout may take to reach a gateway that runs. */
const RECHECK_MS = 2_000;

const CREDENTIALS_FIX = 'check oauth.client_id and oauth.client_secret in endpoint.options';

export function clientCredentials({ oauth, fetch, server }: GrantOptions): ObtainToken {
  return async () => {
    try {
      const { issuer, metadata, resource, scope } = await server();
      const provider = new ClientCredentialsProvider({
        clientId: oauth.client_id ?? '',
        clientSecret: oauth.client_secret ?? '',
        expectedIssuer: issuer,
      });
      const asked = scope === undefined ? {} : { scope };
      const where = { metadata, resource, fetchFn: fetch, ...asked };
      return toToken(await fetchToken(provider, issuer, where));
    } catch (error) {
      throw tokenFailure(error, CREDENTIALS_FIX);
    }
  };
}

/** Without a state folder no person can have logged in. */
export function personalLogin(options: GrantOptions, file: TokenFile | undefined): ObtainToken {
  const { agentId, uri, oauth } = options;
  const fix = `run: ${loginCommand(agentId)}`;
  /** A refresh token that was refused does not come back to life. */
  let dead: string | undefined;

  return async (refused) => {
    const stored = await file?.read(uri, oauth.client_id);
    if (stored === undefined || file === undefined) throw noLogin(fix);
    if (isUsable(stored, refused)) return fromStored(stored);
    return await file.locked(async () => {
      const now = (await file.read(uri, oauth.client_id)) ?? stored;
      if (isUsable(now, refused)) return fromStored(now);
      return await renew(file, now);
    });
  };

  async function renew(file: TokenFile, stored: StoredTokens): Promise<AccessToken> {
    const { refresh_token: refreshToken } = stored;
    if (refreshToken === undefined || refreshToken === dead) throw loginOver(fix);
    try {
      const { issuer, metadata, resource } = await options.server();
      if (issuer !== stored.issuer) throw loginOver(fix);
      const client = { ...stored, client_secret: stored.client_secret ?? oauth.client_secret };
      const clientInformation = toClientInformation(client);
      const where = { metadata, resource, clientInformation, fetchFn: options.fetch };
      const tokens = await refreshAuthorization(issuer, { ...where, refreshToken });
      const kept = { refresh_token: refreshToken, ...tokens };
      await file.write(
        toStored(kept, { uri, issuer, scope: stored.scope, client: registeredOf(stored) }),
      );
      return { ...toToken(tokens), recheckAt: Date.now() + RECHECK_MS };
    } catch (error) {
      const failure = tokenFailure(error, fix);
      if (failure.details.oauth_error === 'invalid_grant') dead = refreshToken;
      throw failure;
    }
  }
}

function registeredOf({ client_id, client_secret, ...more }: StoredTokens): OauthClient {
  return { client_id, client_secret, token_endpoint_auth_method: more.token_endpoint_auth_method };
}

export function toStored(
  tokens: OAuthTokens,
  { client, ...about }: Pick<StoredTokens, 'uri' | 'issuer' | 'scope'> & { client: OauthClient },
): StoredTokens {
  assertBearer(tokens);
  const { access_token, refresh_token } = tokens;
  const renew_at = renewalOf(tokens);
  return { ...about, ...client, access_token, refresh_token, renew_at };
}

function toToken(tokens: OAuthTokens): AccessToken {
  assertBearer(tokens);
  return { value: tokens.access_token, renewAt: renewalOf(tokens) };
}

function isUsable({ access_token, renew_at }: StoredTokens, refused: string | undefined): boolean {
  return access_token !== refused && isFresh(renew_at);
}

function fromStored({ access_token, renew_at }: StoredTokens): AccessToken {
  return {
    value: access_token,
    renewAt: renew_at,
    recheckAt: Date.now() + RECHECK_MS,
    isOld: true,
  };
}

function noLogin(fix: string) {
  return tokenDenied('login_needed', 'No person has logged in to this agent yet', { fix });
}

function loginOver(fix: string) {
  return tokenDenied('login_over', 'The login to this agent is over', { fix });
}
