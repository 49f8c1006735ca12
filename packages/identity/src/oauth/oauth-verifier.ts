// The gateway as an OAuth 2.1 resource server: access tokens (RFC 9068) of the issuers in the
// configuration, for this gateway alone. Their form is checked before the signature, then the claims. What a
// token says becomes a principal with scopes of ours, as the configuration maps them.

import {
  type Clock,
  type FabricError,
  type Log,
  systemClock,
  type TrustTier,
} from '@starloom/core';
import { createGuardedFetch, type GuardedFetch } from '@starloom/wire';
import { z } from 'zod';
import type { TokenVerifier } from '../authenticator.ts';
import { boundCertificate } from '../mtls.ts';
import type { Principal } from '../principal.ts';
import { failure } from '../reasons.ts';
import { SKEW_S } from '../tokens/claims.ts';
import { parseStrict, pathsOf, readHeader, rememberVerified } from '../tokens/read-token.ts';
import { fetchKeys, IssuerKeys, isSigned, type KeyName } from './issuer-keys.ts';
import { audiencesOf } from './protected-resource.ts';

export interface OauthOptions {
  /** Where clients reach this gateway: what their tokens are for. */
  readonly resource: string;
  readonly issuers: readonly OauthIssuer[];
}

interface OauthVerifierOptions extends OauthOptions {
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
    if (!source) throw failure('wrong_issuer/access_token');
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

/** One issuer as `starloom.yaml` names it. */
export interface OauthIssuer {
  readonly issuer: string;
  readonly jwks_uri?: string | undefined;
  /** In place of the address of this gateway. */
  readonly audience?: string | undefined;
  readonly algorithms: readonly string[];
  /** Of the header `typ`, in lower case; `none` takes tokens without one. */
  readonly types: readonly string[];
  readonly principal_claim: string;
  readonly tier: TrustTier;
  /** Scopes of ours by scope of the token. */
  readonly scopes: Readonly<Record<string, readonly string[]>>;
}

interface TokenRules {
  readonly issuer: OauthIssuer;
  readonly keys: IssuerKeys;
  /** Names of this gateway, one of which the token must be for. */
  readonly audiences: readonly string[];
  /** In milliseconds. */
  readonly now: number;
}

interface ReadAccessToken {
  readonly principal: Principal;
  readonly kid: string;
}

const ANOTHER = { fix: 'get another access token from the authorization server' };
const MAX_LIFE_S = 24 * 60 * 60;
const MAX_ID_LENGTH = 256;
/** Headers that would choose a key, or change how the token is read. */
const REFUSED_HEADERS = ['crit', 'jku', 'jwk', 'x5u', 'x5c', 'b64', 'zip', 'enc'];
/** Claims of ID tokens, which are for clients. */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash'];

const scopeList = z.union([z.string().max(4_096), z.array(z.string().max(256)).max(256)]);

const claimsSchema = z.looseObject({
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number(),
  iat: z.number(),
  nbf: z.number().optional(),
  scope: scopeList.optional(),
  scp: scopeList.optional(),
  cnf: z.unknown().optional(),
});

type Claims = z.output<typeof claimsSchema>;

/** AUTH_DENIED with the reason for everything that does not hold. */
async function readAccessToken(token: string, rules: TokenRules): Promise<ReadAccessToken> {
  const header = assertHeader(readHeader(token), rules.issuer);
  const parsed = claimsSchema.safeParse(await verifiedPayload(token, header, rules));
  if (!parsed.success) throw badClaims(pathsOf(parsed.error));
  const claims = parsed.data;
  assertAccessToken(claims);
  assertAudience(claims.aud, rules.audiences);
  assertTimes(claims, Math.floor(rules.now / 1000));
  return { principal: toPrincipal(claims, rules.issuer), kid: header.kid };
}

/** Which issuer a token says it is from, before anything of it is verified. */
function claimedIssuer(token: string): string | undefined {
  if (!token.startsWith('eyJ')) return undefined;
  const [, payload, signature, ...more] = token.split('.');
  if (payload === undefined || signature === undefined || more.length > 0) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const issuer = (claims as { iss?: unknown } | null)?.iss;
    return typeof issuer === 'string' ? issuer : undefined;
  } catch {
    return undefined;
  }
}

function assertHeader(header: Record<string, unknown>, { algorithms, types }: OauthIssuer) {
  const { alg, typ = 'none', kid } = header;
  if (typeof alg !== 'string' || !algorithms.includes(alg)) {
    throw malformed('its algorithm is not accepted');
  }
  const type = String(typ)
    .toLowerCase()
    .replace(/^application\//, '');
  if (!types.includes(type)) throw failure('wrong_type/access_token');
  if (REFUSED_HEADERS.some((name) => Object.hasOwn(header, name))) {
    throw malformed('its header has a parameter that is refused');
  }
  if (typeof kid !== 'string' || kid === '' || kid.length > 256) {
    throw malformed('its header names no key');
  }
  return { alg, kid };
}

async function verifiedPayload(
  token: string,
  header: KeyName,
  { keys }: TokenRules,
): Promise<Record<string, unknown>> {
  const key = await keys.find(header);
  if (!isSigned(token, header.alg, key)) throw failure('bad_signature', ANOTHER);
  return parseStrict(Buffer.from(token.split('.')[1] ?? '', 'base64url'));
}

function assertAccessToken(claims: Claims): void {
  if (!ID_TOKEN_CLAIMS.some((name) => Object.hasOwn(claims, name))) return;
  throw failure('wrong_type/id_token');
}

/** One audience: another one could use the same token here. */
function assertAudience(aud: Claims['aud'], audiences: readonly string[]): void {
  const [only, ...more] = [aud].flat();
  if (only !== undefined && more.length === 0 && audiences.includes(only)) return;
  throw failure('wrong_audience/access_token');
}

function assertTimes({ iat, nbf = iat, exp }: Claims, at: number): void {
  if (exp <= iat || exp <= nbf) throw badClaims('exp');
  if (exp - Math.min(iat, nbf) > MAX_LIFE_S) {
    throw failure('lives_too_long', { limit_s: MAX_LIFE_S, ...ANOTHER });
  }
  if (iat > at + SKEW_S || nbf > at + SKEW_S) throw failure('not_yet_valid');
  if (exp <= at - SKEW_S) throw failure('expired', ANOTHER);
}

/** Its id names the issuer: equal names of two issuers, or of a key, are different principals. */
function toPrincipal(claims: Claims, rules: OauthIssuer): Principal {
  const { issuer, principal_claim, tier } = rules;
  const name = claims[principal_claim];
  const id = `${issuer}|${String(name)}`;
  if (typeof name !== 'string' || name === '' || id.length > MAX_ID_LENGTH) {
    throw badClaims(principal_claim);
  }
  const boundTo = boundCertificate(claims.cnf);
  return Object.freeze({
    id,
    mode: 'oauth',
    tier,
    scopes: Object.freeze(toOwnScopes(claims, rules)),
    keyId: null,
    expiresAt: (claims.exp + SKEW_S) * 1000,
    ...(boundTo !== undefined && { boundTo }),
  });
}

function toOwnScopes({ scope = [], scp = [] }: Claims, { scopes }: OauthIssuer): string[] {
  const given = [scope, scp].flat().flatMap((text) => text.split(' '));
  const own = given.flatMap((name) => (Object.hasOwn(scopes, name) ? (scopes[name] ?? []) : []));
  return [...new Set(own)];
}

function malformed(what: string): FabricError {
  return failure('malformed/token', { what, ...ANOTHER });
}

function badClaims(claims: string): FabricError {
  return failure('bad_claims', { claims, ...ANOTHER });
}
