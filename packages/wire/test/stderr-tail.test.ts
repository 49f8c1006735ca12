import { describe, expect, it } from 'vitest';
import { StderrLines, StderrTail } from '../src/stderr-tail.ts';

describe('StderrTail', () => {
  it('keeps everything that fits', () => {
    expect(tailOf(8, ['ab', 'cd', 'efgh'])).toBe('abcdefgh');
  });

  it('keeps the last bytes, however they were cut into chunks', () => {
    const text = 'the quick brown fox jumps over the lazy dog';
    for (const size of [1, 2, 3, 5, 8, 9, 20, 50]) {
      const chunks = text.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      expect(tailOf(8, chunks)).toBe('lazy dog');
    }
  });

  it('does not begin inside a character', () => {
    expect(tailOf(5, ['€€€'])).toBe('€');
    expect(tailOf(6, ['€€€'])).toBe('€€');
  });

  it('keeps nothing when its limit is zero', () => {
    expect(tailOf(0, ['abc'])).toBe('');
  });
});

describe('StderrLines', () => {
  it('joins chunks, drops line ends and gives an unfinished last line at the end', () => {
    expect(linesOf(100, ['one\r\ntw', 'o\n\nthr', 'ee'])).toEqual(['one', 'two', '', 'three']);
  });

  it('gives a line over the limit in pieces and replaces bad bytes', () => {
    expect(linesOf(4, ['aaaa', 'aa\n'])).toEqual(['aaaa', 'aa']);
    expect(linesOf(100, [Buffer.from([0x61, 0xff, 0x0a])])).toEqual(['a\ufffd']);
  });
});

function tailOf(limit: number, chunks: readonly string[]): string {
  const tail = new StderrTail(limit);
  for (const chunk of chunks) tail.push(Buffer.from(chunk));
  return tail.toString();
}

function linesOf(limit: number, chunks: readonly (string | Buffer)[]): string[] {
  const emitted: string[] = [];
  const lines = new StderrLines(limit, (line) => emitted.push(line));
  for (const chunk of chunks) lines.push(Buffer.from(chunk));
  lines.end();
  return emitted;
}
