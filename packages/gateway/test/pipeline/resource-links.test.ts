import { describe, expect, it } from 'vitest';
import { withReadableLinks } from '../../src/pipeline/respond.ts';

describe('links to resources in an answer', () => {
  it('are rewritten so that they can be read through the gateway', () => {
    const text = { type: 'text', text: 'see file:///a' };
    const content = [
      text,
      { type: 'resource_link', uri: 'file:///a', name: 'a' },
      { type: 'resource', resource: { uri: 'demo://b', text: 'b' } },
    ];
    expect(withReadableLinks({ content, isError: true }, 'files')).toEqual({
      isError: true,
      content: [
        text,
        { type: 'resource_link', uri: 'starloom:files:file:///a', name: 'a' },
        { type: 'resource', resource: { uri: 'starloom:files:demo://b', text: 'b' } },
      ],
    });
  });

  it('are left alone where there are none, or where they are malformed', () => {
    const plain = { content: [{ type: 'text', text: 'x' }] };
    expect(withReadableLinks(plain, 'files')).toBe(plain);
    const odd = { content: [{ type: 'resource_link', uri: 7 }, null, { type: 'resource' }] };
    expect(withReadableLinks(odd, 'files')).toEqual(odd);
  });
});
