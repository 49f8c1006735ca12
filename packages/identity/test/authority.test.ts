import { matchesGlob } from '@starloom/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { covers, intersect, toAuthority } from '../src/index.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 6 });
const glob = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '?'), maxLength: 6 });

describe('what is handed on', () => {
  it('a glob covers another one only if it matches everything that the other matches', () => {
    fc.assert(
      fc.property(glob, glob, text, (wide, narrow, name) => {
        if (covers(wide, narrow) && matchesGlob(narrow, name)) {
          expect(matchesGlob(wide, name)).toBe(true);
        }
      }),
      { numRuns: 20_000 },
    );
  });

  it('an intersection is never wider than either side, and loses nothing that both name', () => {
    const globs = fc.array(glob, { maxLength: 4 });
    fc.assert(
      fc.property(globs, globs, text, (a, b, name) => {
        const { cap } = intersect({ cap: a, scp: [] }, { cap: b, scp: [] });
        if (!cap.some((one) => matchesGlob(one, name))) return;
        expect(a.some((one) => matchesGlob(one, name))).toBe(true);
        expect(b.some((one) => matchesGlob(one, name))).toBe(true);
      }),
      { numRuns: 5_000 },
    );
    const names = { cap: ['coder/code', 'files/*'], scp: [] };
    expect(intersect(names, { cap: ['*/*'], scp: [] })).toEqual(names);
    const spelled = { cap: ['files/fs:read', 'files/fs.read'], scp: [] };
    expect(intersect(spelled, { cap: ['files/fs:*'], scp: [] }).cap).toHaveLength(1);
  });

  it.each([
    ['*', 'org', ['*/*'], ['toolset:*']],
    ['*', 'partner', [], ['toolset:*']],
    ['toolset:agents', 'org', ['*/*'], ['toolset:agents']],
    ['agent:co*', 'public', ['co*/*'], []],
    ['capability:coder/code', 'org', ['coder/code'], []],
    ['admin:keys', 'local', [], []],
  ] as const)('scope %s of tier %s is %j and %j', (scope, tier, cap, scp) => {
    expect(toAuthority([scope], tier)).toEqual({ cap, scp });
  });
});
