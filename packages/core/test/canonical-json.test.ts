import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, toWellFormed } from '../src/index.ts';

describe('canonical JSON', () => {
  it('is as RFC 8785 shows it', () => {
    const value = {
      numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001, -0],
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts members by UTF-16 code units', () => {
    const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6 };
    expect(Object.values(JSON.parse(canonicalJson(value)))).toEqual([4, 2, 6, 1, 5, 3]);
  });

  it('is the same for equal values and reads back as the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = JSON.parse(JSON.stringify(value));
        expect(canonicalJson(shuffled(copy))).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(copy);
      }),
    );
  });

  it.each([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '\ud800',
    1n,
    undefined,
    { '\udfff': 1 },
    () => 1,
  ])('refuses %s', (value) => {
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  });

  it('writes lone surrogates escaped where it is told to, and they stay different', () => {
    const escaped = { loneSurrogates: 'escape' } as const;
    expect(canonicalJson({ '\udfff': '\ud800' }, escaped)).toBe('{"\\udfff":"\\ud800"}');
    expect(canonicalJson(['\ud800'], escaped)).not.toBe(canonicalJson(['\ud801'], escaped));
  });

  it('has a form for whatever came as JSON, once it is well-formed', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const torn = { '\ud800': [value, 'a\udfffb'] };
        const text = canonicalJson(toWellFormed(torn));
        expect(text.isWellFormed()).toBe(true);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });
});

function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, shuffled(member)]),
  );
}
