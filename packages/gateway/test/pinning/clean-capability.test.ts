import { describe, expect, it } from 'vitest';
import { cleanCapability } from '../../src/pinning/offer.ts';
import { tool } from './pinning-world.ts';

const TAGS = '\u{e0049}\u{e0067}\u{e006e}';
const HIDDEN = [
  ['a zero-width space', '\u200b'],
  ['a bidirectional override', '\u202e'],
  ['tag characters', TAGS],
  ['variation selectors', '\u{e0101}\ufe01'],
  ['a Hangul filler', '\u3164'],
  ['an escape sequence', '\x1b[31m'],
] as const;

describe('what an agent says of a capability', () => {
  it.each(HIDDEN)('is cleaned of %s in every text', (_, hidden) => {
    const dirty = `Re${hidden}ads`;
    const clean = cleanCapability(
      tool('read', dirty, {
        title: dirty,
        annotations: { title: dirty },
        input_schema: {
          type: 'object',
          description: dirty,
          properties: {
            description: { type: 'string', description: dirty },
            list: { items: { anyOf: [{ title: dirty, $comment: dirty }] } },
          },
        },
        output_schema: { $defs: { one: { description: dirty } } },
      }),
    );
    expect(clean).toMatchObject({
      title: 'Reads',
      description: 'Reads',
      annotations: { title: 'Reads' },
      input_schema: {
        description: 'Reads',
        properties: {
          description: { type: 'string', description: 'Reads' },
          list: { items: { anyOf: [{ title: 'Reads', $comment: 'Reads' }] } },
        },
      },
      output_schema: { $defs: { one: { description: 'Reads' } } },
    });
    expect(JSON.stringify(clean)).not.toContain(hidden);
  });

  it.each(HIDDEN)('is left out with %s in a name or value that the agent compares', (_, hidden) => {
    const dirty = `a${hidden}b`;
    for (const input_schema of [
      { properties: { [dirty]: {} } },
      { required: [dirty] },
      { properties: { a: { enum: [dirty] } } },
      { properties: { a: { const: dirty } } },
      { properties: { a: { default: { description: dirty } } } },
      { properties: { a: { examples: [[dirty]] } } },
    ]) {
      expect(cleanCapability(tool('read', 'Reads', { input_schema }))).toBeUndefined();
    }
    expect(cleanCapability(tool('read', 'Reads', { tool: dirty }))).toBeUndefined();
  });

  it('keeps line breaks, other scripts and values with control characters', () => {
    const input_schema = { properties: { end: { enum: ['\n', '\r\n', '\t'] } } };
    const capability = tool('lesen', 'Liest\n\nДокумент 文件', { input_schema });
    expect(cleanCapability(capability)).toEqual(capability);
  });

  it('is left out when its schema has no end', () => {
    let input_schema: object = {};
    for (let depth = 0; depth < 5_000; depth += 1) input_schema = { items: input_schema };
    const capability = { ...tool('deep'), input_schema: input_schema as Record<string, unknown> };
    expect(cleanCapability(capability)).toBeUndefined();
  });
});
