import { expect, it } from 'vitest';
import { cleanListing } from '../../src/mcp/clean-listing.ts';

it('passes on what an agent lists, with clean and bounded texts', () => {
  const painted = { title: '\u001b[31mred', description: `hidden\u202e${'x'.repeat(5_000)}` };
  const [listed] = cleanListing([
    {
      name: 'notes',
      uri: 'file:///notes',
      size: 3,
      ...painted,
      arguments: [{ name: 'a', ...painted }],
    },
  ]);
  expect(listed).toMatchObject({ name: 'notes', uri: 'file:///notes', size: 3, title: 'red' });
  expect(listed?.description).toHaveLength(4_096);
  expect(JSON.stringify(listed)).not.toMatch(/\\u001b|\u202e/);
});

it('leaves out what cannot be asked for by its name, or is too large', () => {
  const named = (name: unknown, more = {}) => ({ name, ...more });
  const useless = [
    ...[undefined, 7, '', 'a\u202eb', 'n'.repeat(300)].map((name) => named(name)),
    named('a', { uri: `file:///${'x'.repeat(5_000)}` }),
    named('b', { uriTemplate: 'file:///\u0007' }),
    named('c', { _meta: 'x'.repeat(40_000) }),
    null,
  ];
  expect(cleanListing(useless)).toEqual([]);
  expect(cleanListing(Array.from({ length: 5_000 }, (_, n) => named(`n${n}`)))).toHaveLength(2_000);
});
