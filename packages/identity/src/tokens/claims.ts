// The claims of passports and mandates. Both are signed by gateways of one realm alone, so that anything
// that is not listed here was not written by one of them, and is refused.

import { agentIdSchema, trustTierSchema } from '@starloom/core';
import { z } from 'zod';
import { denied } from '../denied.ts';
import { boundCertificate } from '../mtls.ts';

export const PASSPORT_TYPE = 'passport+jwt';
export const MANDATE_TYPE = 'mandate+jwt';

/** How far clocks may differ, in seconds. */
export const SKEW_S = 30;
/** How far ahead the clock may have been that a token or key of our own realm was made by. */
export const AHEAD_S = 120;
export const MAX_PASSPORT_S = 24 * 60 * 60;
export const MIN_MANDATE_S = 60;
export const MAX_MANDATE_S = 300;
export const MAX_CAP = 64;
/** Of grants that came with a passport, and end with it. */
export const GRANT_PREFIX = 'grant:';

export const CLOCK_FIX = 'set the clock of this machine right';
const FIX = 'ask for another one: "starloom passport create"';

const name = z.string().min(1).max(256);
const seconds = z.int().min(0);
const globs = z.array(z.string().min(1).max(200)).max(MAX_CAP);
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
  cap: globs,
  scp: globs,
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

export interface ClaimRules {
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
  if (iss !== issuer) throw denied('wrong_issuer', 'Another issuer made the token', FIX);
  if (cnf !== undefined && 'dep' in claims) {
    throw denied('bound_to_key', 'The mandate is bound to a key, and came without a proof', FIX);
  }
  boundCertificate(cnf);
  if ((sub === prn) !== (slf === true)) {
    throw denied('bad_claims', 'The token does not say whether its principal acts itself', FIX);
  }
  if (exp <= iat || nbf > exp) throw denied('bad_claims', 'The times of the token are wrong', FIX);
  if (exp - Math.min(iat, nbf) > maxLife) {
    throw denied('lives_too_long', `The token lives longer than ${maxLife} seconds`, FIX);
  }
  if (iat > at + AHEAD_S || nbf > at + AHEAD_S) {
    throw denied('not_yet_valid', 'The clock is behind: the token is not valid yet', CLOCK_FIX);
  }
  if (exp <= at - SKEW_S || iat < at - maxLife - SKEW_S) {
    throw denied('expired', 'The token has expired', FIX);
  }
}

export function badClaims(what: string): Error {
  return denied('bad_claims', `The claims of the token are not valid: ${what}`, FIX);
}
