import { describe, expect, it } from 'vitest';
import { looksLike, skeletonOf } from '../src/index.ts';

describe('names that look alike', () => {
  it.each([
    ['read_file', 'read-file'],
    ['read_file', 'readFile'],
    ['read_file', 'READ.FILE'],
    ['files', 'fi1es'],
    ['files', 'fiIes'],
    ['tool', 'to0l'],
    ['read_file', 're\u0430d_file'],
    ['copy', '\u0441\u043e\u0440\u0443'],
    ['send', 'ｓｅｎｄ'],
    ['send', '𝘀𝗲𝗻𝗱'],
    ['send', 's\u200bend'],
    ['resume', 'résumé'],
  ])('takes %s for %s', (one, other) => {
    expect(looksLike(one, other)).toBe(true);
  });

  it.each([
    ['read_file', 'read_file'],
    ['read_file', 'write_file'],
    ['list', 'lists'],
    ['page_1', 'page_2'],
    ['get_title', 'get_tile'],
  ])('keeps %s and %s apart', (one, other) => {
    expect(looksLike(one, other)).toBe(false);
  });

  it('has a skeleton for every text', () => {
    expect(skeletonOf('')).toBe('');
    expect(skeletonOf('---')).toBe('');
    expect(skeletonOf('读文件')).toBe('读文件');
  });
});
