import { describe, expect, it } from 'vitest';
import { differenceLines, differences } from '../src/commands/agents-approve.ts';
import { toVisible } from '../src/terminal-text.ts';

describe('the differences of two definitions', () => {
  it('names the innermost place that differs', () => {
    const before = {
      description: 'Reads',
      input_schema: { type: 'object', properties: { path: { type: 'string' }, old: {} } },
    };
    const after = {
      description: 'Reads',
      input_schema: { type: 'object', properties: { path: { type: 'number' }, bcc: {} } },
      annotations: { readOnlyHint: true },
    };
    expect(differences(before, after)).toEqual([
      { path: 'input_schema.properties.path.type', before: 'string', after: 'number' },
      { path: 'input_schema.properties.old', before: {} },
      { path: 'input_schema.properties.bcc', after: {} },
      { path: 'annotations', after: { readOnlyHint: true } },
    ]);
  });

  it('shows the lines that differ, and those alone', () => {
    const [found] = differences({ text: 'one\ntwo\nthree' }, { text: 'one\n2\n2b\nthree' });
    expect(found && differenceLines(found)).toEqual(['text', '  - two', '  + 2', '  + 2b']);
  });

  it('writes out what is not seen, in keys and values', () => {
    const hidden = 'a\u200b\u202e\u{e0041}\x1b[2Jb';
    expect(toVisible(hidden)).toBe('a\\u{200b}\\u{202e}\\u{e0041}\\u{1b}[2Jb');
    const [found] = differences({}, { [hidden]: hidden });
    const lines = (found && differenceLines(found)) ?? [];
    expect(lines.join('')).not.toMatch(/[\p{C}\p{DI}]/u);
  });

  it('is not confused by members that every object has', () => {
    expect(differences({}, { constructor: 'x' })).toEqual([{ path: 'constructor', after: 'x' }]);
  });
});
