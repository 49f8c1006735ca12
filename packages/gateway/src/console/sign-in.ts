// Signing in at an issuer of `auth.oauth`: authorization code with PKCE, done by the gateway. The page goes to
// the issuer and brings back a code; the token that the gateway gets for it never reaches the browser. A
// sign-in is ended by the browser that began it, with the proof that it was given.

import { hash } from 'node:crypto';
import { FabricError, type Log } from '@starloom/core';
import { fetchIssuerMetadata, type Principal, secureAddressIn } from '@starloom/identity';
import { createGuardedFetch, type GuardedFetch } from '@starloom/wire';
import { z } from 'zod';
import type { GatewayOptions } from '../gateway.ts';
import { failure } from '../reasons.ts';
import { secret } from './sessions.ts';

interface Finished {
  readonly state: string;
  readonly code: string;
  readonly proof: string;
  readonly iss?: string | undefined;
}

interface Pending {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly verifier: string;
  readonly proof: string;
  readonly redirectUri: string;
  readonly expiresAt: number;
}

const PENDING_MS = 10 * 60_000;
/** Visitors begin them; the oldest go first. */
const MAX_PENDING = 1_000;
const TIMEOUT_MS = 10_000;

const tokenSchema = z.looseObject({ access_token: z.string().min(1).max(8_192) });

export class SignIn {
  readonly issuers: readonly { readonly issuer: string; readonly name: string }[];
  readonly #gateway: GatewayOptions;
  readonly #log: Log;
  readonly #pending = new Map<string, Pending>();
  #http: GuardedFetch | undefined;

  constructor(gateway: GatewayOptions) {
    const { console, auth } = gateway.config;
    const named = console.client_id === undefined ? [] : (auth.oauth?.issuers ?? []);
    this.issuers = named.map(({ issuer }) => ({ issuer, name: new URL(issuer).host }));
    this.#gateway = gateway;
    this.#log = gateway.observer.log;
  }

  /** Where the browser goes, and what it brings back besides. */
  async start(
    issuer: string,
    origin: string,
  ): Promise<{ readonly url: string; readonly proof: string }> {
    const { console, auth } = this.#gateway.config;
    const named = auth.oauth?.issuers.find((one) => one.issuer === issuer);
    if (console.client_id === undefined || !auth.oauth || !named) throw failure('console_issuer');
    const { authorization, token } = await this.#endpointsOf(issuer);
    const [state, verifier, proof] = [secret(), secret(), secret()];
    const redirectUri = new URL('/console/', origin).href;
    this.#keep(state, { issuer, tokenEndpoint: token, verifier, proof, redirectUri });
    const url = new URL(authorization);
    const parameters = {
      response_type: 'code',
      client_id: console.client_id,
      redirect_uri: redirectUri,
      scope: Object.keys(named.scopes).join(' '),
      state,
      code_challenge: hash('sha256', verifier, 'base64url'),
      code_challenge_method: 'S256',
      resource: auth.oauth.resource,
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return { url: url.href, proof };
  }

  /** Who signed in. AUTH_DENIED when this browser began no such sign-in, or the issuer gives no token. */
  async finish({ state, code, proof, iss }: Finished): Promise<Principal> {
    const pending = this.#pending.get(state);
    this.#pending.delete(state);
    const isOurs = pending?.proof === proof && pending.expiresAt > Date.now();
    if (!pending || !isOurs || (iss !== undefined && iss !== pending.issuer)) {
      throw failure('console_oauth/state');
    }
    const token = await this.#exchange(pending, code);
    const headers = { authorization: `Bearer ${token}` };
    return await this.#gateway.authenticator.authenticate({ transport: 'http', headers });
  }

  async close(): Promise<void> {
    await this.#http?.close();
  }

  #keep(state: string, pending: Omit<Pending, 'expiresAt'>): void {
    const now = Date.now();
    for (const [known, { expiresAt }] of this.#pending) {
      if (expiresAt <= now || this.#pending.size >= MAX_PENDING) this.#pending.delete(known);
    }
    this.#pending.set(state, { ...pending, expiresAt: now + PENDING_MS });
  }

  async #endpointsOf(issuer: string) {
    try {
      const metadata = await fetchIssuerMetadata(issuer, this.#client);
      if (!metadata) throw new Error(`${issuer} has no metadata`);
      return {
        authorization: secureAddressIn(metadata, 'authorization_endpoint'),
        token: secureAddressIn(metadata, 'token_endpoint'),
      };
    } catch (cause) {
      this.#log.warn(
        { issuer, error: FabricError.from(cause) },
        'people cannot sign in at an issuer',
      );
      throw failure('console_oauth/issuer', { issuer }, { cause });
    }
  }

  async #exchange(pending: Pending, code: string): Promise<string> {
    const { console, auth } = this.#gateway.config;
    const { issuer, tokenEndpoint, verifier, redirectUri } = pending;
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: console.client_id ?? '',
      code_verifier: verifier,
      resource: auth.oauth?.resource ?? '',
    });
    try {
      const response = await this.#client.fetch(tokenEndpoint, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        },
        body: body.toString(),
      });
      if (response.status !== 200) throw new Error(`the issuer answered ${response.status}`);
      return tokenSchema.parse(await response.json()).access_token;
    } catch (cause) {
      this.#log.warn({ issuer, error: FabricError.from(cause) }, 'an issuer gave no token');
      throw failure('console_oauth/token', { issuer }, { cause });
    }
  }

  /** Hosts that the configuration names may be in a private network. */
  get #client(): GuardedFetch {
    const hosts = this.issuers.map(({ issuer }) => new URL(issuer).hostname);
    this.#http ??= createGuardedFetch({ hosts, timeoutMs: TIMEOUT_MS });
    return this.#http;
  }
}
