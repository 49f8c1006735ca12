import { describe, expect, it } from 'vitest';
import { argumentLines } from '../src/commands/agents-show.ts';
import { withoutPaint } from '../src/terminal-text.ts';

const shown = (schema: unknown) => argumentLines(schema).map(withoutPaint);

describe('the arguments of a capability', () => {
  it('are one line each: name, kind, and what they mean', () => {
    const properties = {
      path: { type: 'string', description: 'The file\nto read' },
      mode: { enum: ['fast', 'slow'], default: 'fast' },
      any: true,
    };
    expect(shown({ type: 'object', properties, required: ['path'] })).toEqual([
      'path  string, required  The file to read',
      'mode  fast | slow, default "fast"',
      'any   any',
    ]);
  });

  it.each([
    ['no schema', undefined, []],
    ['properties that are a list', { properties: ['a'] }, []],
    ['an enum that is a text', { properties: { a: { enum: 'x', type: 7 } } }, ['a  7']],
    ['required that is a text', { properties: { a: {} }, required: 'a' }, ['a  any']],
    ['a name with a line break', { properties: { 'a\n\x1b[2J$ rm': {} } }, ['a $ rm  any']],
  ])('survive %s', (_, schema, lines) => {
    expect(shown(schema)).toEqual(lines);
  });

  it('are cut where there are too many', () => {
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`a${n}`, {}]));
    expect(shown({ properties }).at(-1)).toBe('… and 40 more');
  });
});
