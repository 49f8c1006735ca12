// Tokens for the requests to one agent over HTTP: finds the authorization server once, and obtains
// and renews tokens as the manifest says.

import { FabricError, type Manifest } from '@starloom/core';
import { createGuardedFetch, type GuardedFetch } from '@starloom/wire';
import { AccessTokens } from './access-tokens.ts';
import { loginCommand } from './failures.ts';
import { findTokenServer, type TokenServer } from './find-server.ts';
import { clientCredentials, personalLogin } from './grants.ts';
import type { OauthOptions } from './options.ts';
import { TokenFile } from './token-file.ts';

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
    const { oauth, agentId, stateFolder } = options;
    this.#options = options;
    this.#http = createTokenFetch(options);
    const grant = { ...options, fetch: this.#http.fetch, server: () => this.#findServer() };
    this.tokens = new AccessTokens(
      oauth.grant === 'client_credentials'
        ? clientCredentials(grant)
        : personalLogin(grant, stateFolder ? new TokenFile(stateFolder, agentId) : undefined),
    );
  }

  /** What to do about an agent that refuses a token that was just given out. */
  refused(failure: FabricError): FabricError {
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

export function createTokenFetch({
  uri,
  oauth,
}: Pick<AuthorizationOptions, 'uri' | 'oauth'>): GuardedFetch {
  const named = [uri, ...(oauth.issuer === undefined ? [] : [oauth.issuer])];
  const hosts = named.map((url) => new URL(url).hostname);
  return createGuardedFetch({ hosts, timeoutMs: oauth.timeout_ms });
}

/** BAD_INPUT for a manifest whose options contradict each other. */
export function assertOauth({ agent_id, endpoint }: Manifest, oauth: OauthOptions): void {
  const problems: string[] = [];
  const names = Object.keys(endpoint.headers ?? {}).map((name) => name.toLowerCase());
  if (names.includes('authorization')) problems.push('headers: Authorization comes from oauth');
  if (endpoint.transport !== 'http') problems.push('options.oauth: is for agents over http');
  if (oauth.grant === 'client_credentials') {
    for (const name of ['client_id', 'client_secret'] as const) {
      if (oauth[name] !== undefined) continue;
      problems.push(`options.oauth.${name}: is needed for client_credentials`);
    }
  }
  if (problems.length === 0) return;
  throw new FabricError('BAD_INPUT', `Agent "${agent_id}" has wrong endpoint options`, {
    details: { agent_id, reason: 'bad_options', problems, fix: 'correct its manifest' },
  });
}
