import { describe, expect, it } from 'vitest';
import { utf8Text } from '../src/utf8-text.ts';

describe('the text of bytes', () => {
  it('is what the bytes say, wherever characters lie', () => {
    for (const character of ['a', 'é', '€', '😀']) {
      for (let shift = 0; shift < 4; shift += 1) {
        const text = 'x'.repeat(shift) + character.repeat(700_000);
        expect(utf8Text(Buffer.from(text)) === text).toBe(true);
      }
    }
  });

  it('has a replacement for each byte that is no UTF-8, as with a single decoding', () => {
    for (const byte of [0xff, 0x80, 0xc3, 0xf0]) {
      const bytes = Buffer.alloc(1_500_000, byte);
      expect(utf8Text(bytes) === bytes.toString('utf8')).toBe(true);
    }
  });
});
