import { z } from 'zod';

/** From most to least trusted. */
export const TRUST_TIERS = ['local', 'org', 'partner', 'public'] as const;

export type TrustTier = (typeof TRUST_TIERS)[number];

/** The tier of an agent or a caller for which none is set. */
export const DEFAULT_TIER: TrustTier = 'public';

export const trustTierSchema = z.enum(TRUST_TIERS);

/** Sorts the more trusted first: negative when `a` is trusted more than `b`. */
export function compareTiers(a: TrustTier, b: TrustTier): number {
  return TRUST_TIERS.indexOf(a) - TRUST_TIERS.indexOf(b);
}

/** Is `candidate` trusted at least as far as `reference`? */
export function isTrustedAs(candidate: TrustTier, reference: TrustTier): boolean {
  return compareTiers(candidate, reference) <= 0;
}

/** The one that is trusted less. */
export function lowerTier(a: TrustTier, b: TrustTier): TrustTier {
  return isTrustedAs(a, b) ? b : a;
}
