// Tokens for the requests to one agent over HTTP: finds the authorization server once, and obtains
// and renews tokens as the manifest says.

import { FabricError } from '@starloom/core';
import { createGuardedFetch, type GuardedFetch } from '@starloom/wire';
import { AccessTokens, type ObtainToken } from './access-tokens.ts';
import { loginCommand } from './failures.ts';
import { findTokenServer, type TokenServer } from './find-server.ts';
import { clientCredentials, type GrantOptions, jwtBearer } from './grants.ts';
import type { OauthOptions } from './options.ts';
import { personalLogin, TokenFile } from './personal-login.ts';

export interface AuthorizationOptions {
  readonly agentId: string;
  readonly uri: string;
  readonly oauth: OauthOptions;
  /** Where logins are kept. */
  readonly stateFolder: string | undefined;
}

export class Authorization {
  readonly tokens: AccessTokens;
  readonly #options: AuthorizationOptions;
  readonly #http: GuardedFetch;
  #server: Promise<TokenServer> | undefined;

  constructor(options: AuthorizationOptions) {
    this.#options = options;
    this.#http = createTokenFetch(options);
    const grant = { ...options, fetch: this.#http.fetch, server: () => this.#findServer() };
    this.tokens = new AccessTokens(obtainBy(grant, options.stateFolder));
  }

  /** What to do about an agent that refuses a token that was just given out. */
  explainRefusal(failure: FabricError): FabricError {
    if (failure.code !== 'AUTH_DENIED') return failure;
    const { agentId, oauth } = this.#options;
    const { code, message, details, cause } = failure;
    const isPersonal = oauth.grant === 'authorization_code';
    const { needed_scope } = details;
    const scope = typeof needed_scope === 'string' ? needed_scope : undefined;
    // The person logs in once more, in another process.
    if (isPersonal && scope !== undefined) this.tokens.forget();
    const fix = isPersonal
      ? `run: ${loginCommand(agentId, scope)}`
      : 'check oauth.scope in endpoint.options, and what the client may do';
    return new FabricError(code, message, { details: { ...details, fix }, cause });
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  #findServer(): Promise<TokenServer> {
    const { uri, oauth } = this.#options;
    this.#server ??= findTokenServer(uri, oauth, this.#http.fetch).catch((error: unknown) => {
      this.#server = undefined;
      throw error;
    });
    return this.#server;
  }
}

function obtainBy(grant: GrantOptions, stateFolder: string | undefined): ObtainToken {
  switch (grant.oauth.grant) {
    case 'client_credentials':
      return clientCredentials(grant);
    case 'jwt_bearer':
      return jwtBearer(grant);
    case 'authorization_code':
      return personalLogin(
        grant,
        stateFolder === undefined ? undefined : new TokenFile(stateFolder, grant.agentId),
      );
  }
}

export function createTokenFetch({
  uri,
  oauth,
}: Pick<AuthorizationOptions, 'uri' | 'oauth'>): GuardedFetch {
  const named = [uri, oauth.issuer, oauth.idp_token_endpoint].filter((url) => url !== undefined);
  const hosts = named.map((url) => new URL(url).hostname);
  return createGuardedFetch({ hosts, timeoutMs: oauth.timeout_ms });
}
