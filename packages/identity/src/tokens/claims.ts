// The claims of passports and mandates. Both are signed by gateways of one realm alone, so that anything
// that is not listed here was not written by one of them, and is refused.

import { agentIdSchema, trustTierSchema } from '@starloom/core';
import { z } from 'zod';
import { boundCertificate } from '../mtls.ts';
import { failure } from '../reasons.ts';

export const PASSPORT_TYPE = 'passport+jwt';
export const MANDATE_TYPE = 'mandate+jwt';

/** How far clocks may differ, in seconds. */
export const SKEW_S = 30;
/** How far ahead the clock may have been that a token or key of our own realm was made by. */
export const AHEAD_S = 120;
export const MAX_PASSPORT_S = 24 * 60 * 60;
export const MIN_MANDATE_S = 60;
export const MAX_MANDATE_S = 300;
/** Of passports and mandates, in characters. */
export const MAX_TOKEN_LENGTH = 8_192;
const MAX_CAP = 64;
/** Of grants that came with a passport, and end with it. */
export const GRANT_PREFIX = 'grant:';

const name = z.string().min(1).max(256);
const seconds = z.int().min(0);
export const globsSchema = z.array(z.string().min(1).max(200)).max(MAX_CAP);
export const budgetSchema = z.strictObject({ calls: z.int().min(0), ms: z.int().min(0) });

const common = {
  ver: z.literal(1),
  iss: name,
  /** Who acts. */
  sub: name,
  /** On whose behalf. */
  prn: name,
  /** Set where a principal acts for itself. */
  slf: z.literal(true).optional(),
  /** The grant. */
  mnd: name,
  aud: name,
  cap: globsSchema,
  scp: globsSchema,
  tier: trustTierSchema,
  /** The deepest mandate of the chain. */
  mxd: z.int().min(1).max(100),
  /** Revocations that were known to the issuer. */
  epo: z.int().min(0),
  jti: name,
  iat: seconds,
  nbf: seconds,
  exp: seconds,
  /** Bound to a key: of a passport to a client certificate (RFC 8705). */
  cnf: z.unknown().optional(),
};

export const passportSchema = z.strictObject({ ...common, bud: budgetSchema.optional() });

const actorSchema = z.strictObject({
  sub: name,
  cog: name,
  get act(): z.ZodOptional<typeof actorSchema> {
    return actorSchema.optional();
  },
});

export const mandateSchema = z.strictObject({
  ...common,
  aud: agentIdSchema,
  cog: name,
  act: actorSchema.optional(),
  dep: z.int().min(1).max(100),
  /** SHA-256 of the credential that it was minted from; none for a shared key. */
  pah: z
    .string()
    .regex(/^[\w-]{43}$/)
    .optional(),
  /** The root trace. */
  tid: name,
  bud: budgetSchema,
  /** The passport at the root. */
  pid: name.optional(),
  /** When the credential at the root expires; absent where it does not. */
  rxp: seconds.optional(),
});

export type PassportClaims = z.output<typeof passportSchema>;
export type MandateClaims = z.output<typeof mandateSchema>;
export type NestedActor = z.output<typeof actorSchema>;

interface ClaimRules {
  readonly issuer: string;
  /** In milliseconds. */
  readonly now: number;
  /** Longest life, in seconds. */
  readonly maxLife: number;
}

/** What both kinds have in common; AUTH_DENIED with the reason. */
export function assertClaims(
  claims: PassportClaims | MandateClaims,
  { issuer, now, maxLife }: ClaimRules,
): void {
  const { iss, sub, prn, slf, iat, nbf, exp, cnf } = claims;
  const at = Math.floor(now / 1000);
  if (iss !== issuer) throw failure('wrong_issuer');
  if (cnf !== undefined && 'dep' in claims) throw failure('bound_to_key/mandate');
  boundCertificate(cnf);
  if ((sub === prn) !== (slf === true)) throw failure('bad_claims', { claims: 'slf' });
  if (exp <= iat || nbf > exp) throw failure('bad_claims', { claims: 'iat, nbf, exp' });
  if (exp - Math.min(iat, nbf) > maxLife) throw failure('lives_too_long', { limit_s: maxLife });
  if (iat > at + AHEAD_S || nbf > at + AHEAD_S) throw failure('not_yet_valid');
  if (exp <= at - SKEW_S || iat < at - maxLife - SKEW_S) throw failure('expired');
}
