// The token that all calls to one agent share. However many calls need one, one request is made. A
// token that the agent refuses is renewed only if the agent accepted it before: an agent that
// refuses everything does not make us ask for a token with every call.

import type { OAuthTokens } from '@modelcontextprotocol/client';
import { failure } from '../reasons.ts';
import type { DpopSession } from './dpop.ts';

/** What a header can carry. */
const SENDABLE = /^[\x21-\x7e]{1,8192}$/;
const MARGIN_MS = 30_000;
/** After so long a refused token is worth another attempt in any case. */
const RETRY_MS = 30_000;

export interface AccessToken {
  readonly value: string;
  /** With the key that the token is bound to; absent for a bearer token. */
  readonly dpop: DpopSession | undefined;
  /** In milliseconds since 1970; absent when the server did not say how long the token lives. */
  readonly renewAt: number | undefined;
  /** When to ask again whether it is still ours, in milliseconds since 1970; never when absent. */
  readonly recheckAt?: number;
  /** The agent may have accepted it already, in an earlier process. */
  readonly isOld?: boolean;
}

/** `refused`: the token that no longer works. Throws a FabricError. */
export type ObtainToken = (refused: string | undefined) => Promise<AccessToken>;

export class AccessTokens {
  readonly #obtain: ObtainToken;
  #current: AccessToken | undefined;
  #obtaining: Promise<AccessToken> | undefined;
  #isProven = false;
  #obtainedAt = 0;

  constructor(obtain: ObtainToken) {
    this.#obtain = obtain;
  }

  async get(): Promise<AccessToken> {
    const known = this.#current;
    if (!known || !isFresh(known.renewAt)) return await this.#renew(known?.value);
    if (isFresh(known.recheckAt)) return known;
    return await this.#renew(undefined);
  }

  /** The next call asks for a token again. */
  forget(): void {
    this.#current = undefined;
  }

  /** The agent took this token. */
  noteAccepted(value: string): void {
    if (this.#current?.value === value) this.#isProven = true;
  }

  /** Another token in place of one that the agent refused; `undefined` when none is to be had. */
  async replace(refused: string): Promise<AccessToken | undefined> {
    const known = this.#current;
    if (known && known.value !== refused && !this.#obtaining) return known;
    const isDue = this.#isProven || Date.now() - this.#obtainedAt > RETRY_MS;
    if (!this.#obtaining && !isDue) return undefined;
    const token = await this.#renew(refused);
    return token.value === refused ? undefined : token;
  }

  #renew(refused: string | undefined): Promise<AccessToken> {
    this.#obtaining ??= this.#obtain(refused)
      .then((token) => {
        this.#current = token;
        this.#isProven = token.isOld ?? false;
        this.#obtainedAt = Date.now();
        return token;
      })
      .finally(() => {
        this.#obtaining = undefined;
      });
    return this.#obtaining;
  }
}

export function isFresh(renewAt: number | undefined): boolean {
  return renewAt === undefined || Date.now() < renewAt;
}

/** Some time before it expires: half of its life at most. */
export function renewalOf({ expires_in: seconds }: OAuthTokens): number | undefined {
  if (seconds === undefined || !Number.isFinite(seconds)) return undefined;
  const life = seconds * 1000;
  return Date.now() + life - Math.min(MARGIN_MS, life / 2);
}

/** Tokens that a request can carry as they are, of the kind asked for; UPSTREAM_ERROR for others. */
export function assertUsable(
  tokens: OAuthTokens,
  { isBound }: { readonly isBound: boolean },
): void {
  const { access_token: token, token_type: type } = tokens;
  const wanted = isBound ? 'dpop' : 'bearer';
  if (type.toLowerCase() === wanted && SENDABLE.test(token)) return;
  throw failure(isBound ? 'bad_token/unbound' : 'bad_token');
}
