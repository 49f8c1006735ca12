import { describe, expect, it } from 'vitest';
import { parseJsonc } from '../src/parse-json.ts';

describe('JSON with comments', () => {
  it('is read without them, and every entry keeps its place', () => {
    const text = `{
  // the first
  "a": "no // comment, /* in */ here,]",
  /* the
     second */ "b": [1, 2,],
}`;
    const { value, positions, problems } = parseJsonc(text, 'x.json');
    expect(problems).toEqual([]);
    expect(value).toEqual({ a: 'no // comment, /* in */ here,]', b: [1, 2] });
    expect(positions.get('b')?.key).toEqual({ line: 5, column: 16 });
  });

  it.each([['{"a": 1,,}'], ['{"a": 1} /* open'], ['{"a" 1}']])('refuses %s', (text) => {
    expect(parseJsonc(text, 'x.json').problems).toHaveLength(1);
  });
});
