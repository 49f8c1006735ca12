// Reads an access token of a configured issuer (RFC 9068): its form before its signature, then its
// claims. What it says becomes a principal with scopes of ours, as the configuration maps them.

import type { FabricError, TrustTier } from '@starloom/core';
import { z } from 'zod';
import { denied } from '../denied.ts';
import { boundCertificate } from '../mtls.ts';
import type { Principal } from '../principal.ts';
import { SKEW_S } from '../tokens/claims.ts';
import { parseStrict, pathsOf, readHeader } from '../tokens/read-token.ts';
import { isSigned } from '../tokens/signature.ts';
import type { IssuerKeys, KeyName } from './issuer-keys.ts';

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

export interface TokenRules {
  readonly issuer: OauthIssuer;
  readonly keys: IssuerKeys;
  /** Names of this gateway, one of which the token must be for. */
  readonly audiences: readonly string[];
  /** In milliseconds. */
  readonly now: number;
}

export interface ReadAccessToken {
  readonly principal: Principal;
  readonly kid: string;
}

const FIX = 'get another access token from the authorization server';
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
export async function readAccessToken(token: string, rules: TokenRules): Promise<ReadAccessToken> {
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
export function claimedIssuer(token: string): string | undefined {
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
    throw denied('malformed', 'The algorithm of the token is not accepted', FIX);
  }
  const type = String(typ)
    .toLowerCase()
    .replace(/^application\//, '');
  if (!types.includes(type)) throw denied('wrong_type', 'The token is no access token', FIX);
  if (REFUSED_HEADERS.some((name) => Object.hasOwn(header, name))) {
    throw denied('malformed', 'The header of the token has a parameter that is refused', FIX);
  }
  if (typeof kid !== 'string' || kid === '' || kid.length > 256) {
    throw denied('malformed', 'The header of the token names no key', FIX);
  }
  return { alg, kid };
}

async function verifiedPayload(
  token: string,
  header: KeyName,
  { keys }: TokenRules,
): Promise<Record<string, unknown>> {
  const key = await keys.find(header);
  if (!isSigned(token, header.alg, key)) {
    throw denied('bad_signature', 'The signature of the token is wrong', FIX);
  }
  return parseStrict(Buffer.from(token.split('.')[1] ?? '', 'base64url'));
}

function assertAccessToken(claims: Claims): void {
  if (!ID_TOKEN_CLAIMS.some((name) => Object.hasOwn(claims, name))) return;
  throw denied('wrong_type', 'The token is an ID token', 'send the access token instead');
}

/** One audience: another one could use the same token here. */
function assertAudience(aud: Claims['aud'], audiences: readonly string[]): void {
  const [only, ...more] = [aud].flat();
  if (only !== undefined && more.length === 0 && audiences.includes(only)) return;
  const fix = 'ask for a token with this gateway as resource (RFC 8707), and for no other';
  throw denied('wrong_audience', 'The token is not for this gateway alone', fix);
}

function assertTimes({ iat, nbf = iat, exp }: Claims, at: number): void {
  if (exp <= iat || exp <= nbf) throw badClaims('exp');
  if (exp - Math.min(iat, nbf) > MAX_LIFE_S) {
    throw denied('lives_too_long', `The token lives longer than ${MAX_LIFE_S} seconds`, FIX);
  }
  if (iat > at + SKEW_S || nbf > at + SKEW_S) {
    throw denied('not_yet_valid', 'The token is not valid yet', 'set the clocks right');
  }
  if (exp <= at - SKEW_S) throw denied('expired', 'The token has expired', FIX);
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

function badClaims(what: string): FabricError {
  return denied('bad_claims', `The claims of the token are not valid: ${what}`, FIX);
}
