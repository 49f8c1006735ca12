import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareTiers, DEFAULT_TIER, isTrustedAs, TRUST_TIERS } from '../src/index.ts';

const tier = fc.constantFrom(...TRUST_TIERS);

describe('trust tiers', () => {
  it('sort as local, org, partner, public from any order', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...TRUST_TIERS], { minLength: 4 }), (shuffled) => {
        expect(shuffled.sort(compareTiers)).toEqual(['local', 'org', 'partner', 'public']);
      }),
    );
  });

  it('are a total order', () => {
    fc.assert(
      fc.property(tier, tier, tier, (a, b, c) => {
        expect(Math.sign(compareTiers(a, b))).toBe(-Math.sign(compareTiers(b, a)) + 0);
        expect(compareTiers(a, b) === 0).toBe(a === b);
        if (isTrustedAs(a, b) && isTrustedAs(b, c)) expect(isTrustedAs(a, c)).toBe(true);
        expect(isTrustedAs(a, b) || isTrustedAs(b, a)).toBe(true);
      }),
    );
  });

  it('take the unknown as public', () => {
    expect(DEFAULT_TIER).toBe('public');
    for (const each of TRUST_TIERS) expect(isTrustedAs(each, DEFAULT_TIER)).toBe(true);
  });
});
