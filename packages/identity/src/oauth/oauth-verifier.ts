// The gateway as an OAuth 2.1 resource server: access tokens of the issuers in the configuration, for
// this gateway alone.

import { type Clock, type Log, systemClock } from '@starloom/core';
import { createGuardedFetch, type GuardedFetch } from '@starloom/wire';
import type { TokenVerifier } from '../authenticator.ts';
import { denied } from '../denied.ts';
import type { Principal } from '../principal.ts';
import { rememberVerified } from '../tokens/verified-tokens.ts';
import { claimedIssuer, type OauthIssuer, readAccessToken } from './access-token.ts';
import { fetchKeys } from './fetch-keys.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { audiencesOf } from './protected-resource.ts';

export interface OauthOptions {
  /** Where clients reach this gateway: what their tokens are for. */
  readonly resource: string;
  readonly issuers: readonly OauthIssuer[];
}

export interface OauthVerifierOptions extends OauthOptions {
  readonly clock?: Clock;
  readonly log: Log;
}

interface Source {
  readonly issuer: OauthIssuer;
  readonly keys: IssuerKeys;
}

const TIMEOUT_MS = 5_000;

export class OauthVerifier implements TokenVerifier {
  readonly #options: OauthVerifierOptions;
  readonly #clock: Clock;
  readonly #sources: ReadonlyMap<string, Source>;
  readonly #http: readonly GuardedFetch[];
  readonly #remembered: TokenVerifier;
  /** Whether the key that signed the token of a principal is still published. */
  readonly #isPublished = new WeakMap<Principal, () => boolean>();

  constructor(options: OauthVerifierOptions) {
    const { issuers, log, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    const sources = issuers.map((issuer) => ({ issuer, http: createFetch(issuer) }));
    this.#http = sources.map(({ http }) => http);
    this.#sources = new Map(
      sources.map(({ issuer, http }) => {
        const read = () => fetchKeys(issuer, http);
        const keys = new IssuerKeys({ issuer: issuer.issuer, fetchKeys: read, clock, log });
        return [issuer.issuer, { issuer, keys }];
      }),
    );
    this.#remembered = rememberVerified((token) => this.#verify(token), this.isCurrent);
  }

  /** Whether a bearer credential is a token that one of the issuers is to have made. */
  isOwn(bearer: string): boolean {
    return this.#sources.has(claimedIssuer(bearer) ?? '');
  }

  verify(token: string): Principal | Promise<Principal> {
    return this.#remembered.verify(token);
  }

  readonly isCurrent = (principal: Principal): boolean => {
    const { expiresAt = 0, mode } = principal;
    if (mode !== 'oauth') return true;
    return expiresAt > this.#clock.now() && (this.#isPublished.get(principal)?.() ?? true);
  };

  async close(): Promise<void> {
    await Promise.all(this.#http.map((http) => http.close()));
  }

  async #verify(token: string): Promise<Principal> {
    const source = this.#sources.get(claimedIssuer(token) ?? '');
    if (!source) {
      const fix = 'use an issuer that auth.oauth.issuers names';
      throw denied('wrong_issuer', 'The issuer of the token is not accepted', fix);
    }
    const { issuer, keys } = source;
    const audiences = issuer.audience ? [issuer.audience] : audiencesOf(this.#options.resource);
    const now = this.#clock.now();
    const { principal, kid } = await readAccessToken(token, { issuer, keys, audiences, now });
    this.#isPublished.set(principal, () => keys.has(kid));
    return principal;
  }
}

/** Hosts that the configuration names may be in a private network; others must be public. */
function createFetch({ issuer, jwks_uri = issuer }: OauthIssuer): GuardedFetch {
  const hosts = [issuer, jwks_uri].map((url) => new URL(url).hostname);
  return createGuardedFetch({ hosts, timeoutMs: TIMEOUT_MS });
}
