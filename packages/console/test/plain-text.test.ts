import { describe, expect, it } from 'vitest';
import { oneLine, plainText } from '../src/ui/plain-text.ts';

describe('text of agents', () => {
  it('loses terminal sequences and control characters', () => {
    expect(plainText('\u001b[31mred\u001b[0m \u001b]0;title\u0007ok')).toBe('red ok');
    expect(plainText('a\u0000b\u009bc')).toBe('a\ufffdb\ufffdc');
  });

  it('shows where a mark would turn the direction of reading, or hide', () => {
    expect(plainText('user\u202egpj.exe')).toBe('user\ufffdgpj.exe');
    expect(plainText('pay\u200bpal \u2066x\u2069')).toBe('pay\ufffdpal \ufffdx\ufffd');
    expect(plainText('\u{e0041}hidden')).toBe('\ufffdhidden');
  });

  it('keeps lines, tabs and letters of every language', () => {
    const text = 'première\n\tligne 你好 שלום 👩‍🚀';
    expect(plainText(text)).toBe(text);
    expect(plainText('a\r\nb\rc')).toBe('a\nb\nc');
  });

  it('is one bounded line where a line is shown', () => {
    expect(oneLine('a\n\n  b')).toBe('a b');
    expect(oneLine('x'.repeat(1000), 10)).toBe(`${'x'.repeat(9)}…`);
  });
});
