import { describe, expect, it } from 'vitest';
import { matchesGlob } from '../src/index.ts';

describe('a glob', () => {
  it.each([
    ['*', '', true],
    ['*', 'anything', true],
    ['read_*', 'read_file', true],
    ['read_*', 'write_file', false],
    ['*_file', 'read_text_file', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-b-d', false],
    ['get?', 'gets', true],
    ['get?', 'get', false],
    ['exact', 'exact', true],
    ['exact', 'exactly', false],
    ['a.b', 'axb', false],
  ])('%s against %s is %s', (glob, text, matches) => {
    expect(matchesGlob(glob, text)).toBe(matches);
  });

  it('takes time in proportion to its input, however many stars it has', () => {
    expect(matchesGlob('a*'.repeat(64).concat('b'), 'a'.repeat(20_000))).toBe(false);
  });
});
