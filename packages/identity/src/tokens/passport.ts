// Passports: who acts for which principal, with what at most. A gateway accepts them from callers and
// mints mandates from them; it never passes one on. Two forms carry the same claims: a compact token,
// and the JSON object of the protocol, signed over its RFC 8785 form.

import { randomUUID } from 'node:crypto';
import { canonicalJson, type TrustTier } from '@starloom/core';
import { z } from 'zod';
import type { Authority } from '../authority.ts';
import { failure } from '../reasons.ts';
import {
  assertClaims,
  budgetSchema,
  GRANT_PREFIX,
  MAX_PASSPORT_S,
  MAX_TOKEN_LENGTH,
  PASSPORT_TYPE,
  type PassportClaims,
  passportSchema,
} from './claims.ts';
import { parseJsonObject, pathsOf, type ReadToken, readSigned, toDelegate } from './read-token.ts';
import type { SigningKeys } from './signing-keys.ts';

export interface PassportTerms extends Authority {
  readonly principal: string;
  /** Who acts; the principal itself by default. */
  readonly delegate?: string | undefined;
  readonly tier: TrustTier;
  readonly lifeMs: number;
  readonly maxDepth: number;
  readonly epoch: number;
  readonly budget?: { readonly calls: number; readonly ms: number } | undefined;
  /** SHA-256 of the client certificate that its bearer must show, base64url. */
  readonly certificate?: string | undefined;
  readonly now: number;
}

/** The form of the protocol: names as they are written there, times in ISO 8601. */
const structuredSchema = z.strictObject({
  version: z.literal(1),
  passport_id: z.string(),
  issuer: z.string(),
  audience: z.string(),
  principal_id: z.string(),
  delegate_id: z.string(),
  mandate_id: z.string(),
  delegation: z.strictObject({
    capabilities: z.array(z.string()),
    scopes: z.array(z.string()),
    max_depth: z.int(),
    budget: budgetSchema.optional(),
  }),
  tier: z.string(),
  epoch: z.int(),
  issued_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  key_id: z.string(),
  signature: z.base64url(),
});

type StructuredPassport = z.output<typeof structuredSchema>;

export function toPassportClaims(terms: PassportTerms, issuer: string): PassportClaims {
  const { principal: prn, delegate: sub = prn, cap, scp, tier, maxDepth, epoch, budget } = terms;
  const { certificate } = terms;
  const iat = Math.floor(terms.now / 1000);
  return passportSchema.parse({
    ver: 1,
    iss: issuer,
    sub,
    prn,
    ...(sub === prn && { slf: true }),
    mnd: `${GRANT_PREFIX}${randomUUID()}`,
    aud: issuer,
    cap: [...cap],
    scp: [...scp],
    tier,
    mxd: maxDepth,
    epo: epoch,
    jti: randomUUID(),
    iat,
    nbf: iat,
    exp: iat + Math.min(MAX_PASSPORT_S, Math.floor(terms.lifeMs / 1000)),
    ...(budget && { bud: budget }),
    ...(certificate !== undefined && { cnf: { 'x5t#S256': certificate } }),
  });
}

export async function signPassport(claims: PassportClaims, keys: SigningKeys): Promise<string> {
  return await keys.sign(PASSPORT_TYPE, claims);
}

export function signStructuredPassport(claims: PassportClaims, keys: SigningKeys): string {
  const unsigned = { ...toStructured(claims), key_id: keys.currentKid };
  const signature = keys.signBytes(toSignedBytes(unsigned));
  return JSON.stringify({ ...unsigned, signature });
}

/** Of either form; AUTH_DENIED with the reason. Whether it was revoked is not looked at. */
export async function readPassport(
  text: string,
  keys: SigningKeys,
  now: number,
): Promise<ReadToken<PassportClaims>> {
  const read = text.startsWith('{')
    ? readStructured(text, keys)
    : await readSigned(text, PASSPORT_TYPE, passportSchema, keys.findKey);
  const { issuer } = keys;
  assertClaims(read.claims, { issuer, now, maxLife: MAX_PASSPORT_S });
  if (read.claims.aud === issuer) return read;
  throw failure('wrong_audience/passport');
}

export function toPassportPrincipal(read: ReadToken<PassportClaims>, text: string) {
  const { sub, jti, bud } = read.claims;
  return toDelegate(read, text, {
    delegateId: sub,
    passportId: jti,
    cogId: `passport/${jti}`,
    depth: 0,
    actors: [],
    ...(bud && { budget: bud }),
  });
}

function readStructured(text: string, keys: SigningKeys): ReadToken<PassportClaims> {
  if (text.length > MAX_TOKEN_LENGTH) throw failure('malformed/passport');
  const parsed = structuredSchema.safeParse(parseJsonObject(text));
  if (!parsed.success) throw failure('bad_claims', { claims: pathsOf(parsed.error) });
  const { signature, ...unsigned } = parsed.data;
  const { key_id: kid } = unsigned;
  if (!keys.jwks().keys.some((key) => key.kid === kid)) throw failure('unknown_signer');
  if (!keys.verifyBytes(kid, toSignedBytes(unsigned), signature)) throw failure('bad_signature');
  return { claims: fromStructured(unsigned), kid };
}

function toSignedBytes(unsigned: object): Uint8Array {
  return new TextEncoder().encode(canonicalJson(unsigned));
}

function toStructured(claims: PassportClaims) {
  const { jti, iss, aud, prn, sub, mnd, cap, scp, mxd, bud, tier, epo, iat, exp } = claims;
  return {
    version: 1,
    passport_id: jti,
    issuer: iss,
    audience: aud,
    principal_id: prn,
    delegate_id: sub,
    mandate_id: mnd,
    delegation: { capabilities: cap, scopes: scp, max_depth: mxd, ...(bud && { budget: bud }) },
    tier,
    epoch: epo,
    issued_at: new Date(iat * 1000).toISOString(),
    expires_at: new Date(exp * 1000).toISOString(),
  };
}

function fromStructured(passport: Omit<StructuredPassport, 'signature'>): PassportClaims {
  const { principal_id: prn, delegate_id: sub, delegation, issued_at, expires_at } = passport;
  const iat = Math.floor(Date.parse(issued_at) / 1000);
  const { capabilities: cap, scopes: scp, max_depth: mxd, budget: bud } = delegation;
  const parsed = passportSchema.safeParse({
    ver: 1,
    iss: passport.issuer,
    sub,
    prn,
    ...(sub === prn && { slf: true }),
    mnd: passport.mandate_id,
    aud: passport.audience,
    cap,
    scp,
    tier: passport.tier,
    mxd,
    epo: passport.epoch,
    jti: passport.passport_id,
    iat,
    nbf: iat,
    exp: Math.floor(Date.parse(expires_at) / 1000),
    ...(bud && { bud }),
  });
  if (parsed.success) return parsed.data;
  throw failure('bad_claims', { claims: pathsOf(parsed.error) });
}
