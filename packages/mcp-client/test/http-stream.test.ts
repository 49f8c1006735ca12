import { describe, expect, it } from 'vitest';
import { WholeBody } from '../src/http-stream.ts';

/** A body that is pushed in parts of so many bytes. */
function read(bytes: Buffer, part: number, limit = 1 << 24) {
  const texts: string[] = [];
  const beginnings: string[] = [];
  const body = new WholeBody(
    limit,
    (text) => texts.push(text),
    (beginning) => beginnings.push(beginning),
  );
  for (let at = 0; at < bytes.length && beginnings.length === 0; at += part) {
    body.push(bytes.subarray(at, at + part));
  }
  if (beginnings.length === 0) body.end();
  return { texts, beginnings };
}

describe('the body of an answer', () => {
  it.each([
    ['small', 'grüße €𝄞'],
    ['large', 'grüße €𝄞'.repeat(20_000)],
  ])('that is %s is the same text however it is cut', (_, text) => {
    const bytes = Buffer.from(text);
    for (const part of [7, 1_021, 70_001, bytes.length]) {
      expect(read(bytes, part).texts).toEqual([text]);
    }
  });

  it('that is over the limit is shown as far as it came', () => {
    const { texts, beginnings } = read(Buffer.from('x'.repeat(200_000)), 1_000, 150_000);
    expect(texts).toEqual([]);
    expect(beginnings).toEqual(['x'.repeat(150_000)]);
  });

  it('that is large is decoded as it comes, and not at its end', () => {
    const chunks = Array.from({ length: 20 }, () => Buffer.from('x'.repeat(32_768)));
    let text = '';
    const body = new WholeBody(
      1 << 24,
      (whole) => {
        text = whole;
      },
      () => {},
    );
    for (const chunk of chunks) body.push(chunk);
    // What was decoded before is not looked at again.
    for (const chunk of chunks) chunk.fill('y');
    body.end();
    expect(text).toBe('x'.repeat(20 * 32_768));
  });

  it('that has too many values is given up before all of it came', () => {
    const part = Buffer.from(`[${'0,'.repeat(50_000)}0],`);
    const body = new WholeBody(
      1 << 24,
      () => {},
      () => {},
    );
    let parts = 0;
    const push = () => {
      for (; parts < 100; parts += 1) body.push(part);
    };
    expect(push).toThrow(/too many values/);
    expect(parts).toBe(4);
  });
});
