import { agentsFileSchema, type Manifest } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { putManifest } from '../src/agents-text.ts';
import { entryOf } from './fixtures/world.ts';

const manifestsIn = (text: string): Manifest[] => agentsFileSchema.parse(parse(text));
const idsIn = (text: string) => manifestsIn(text).map(({ agent_id }) => agent_id);

describe('an entry put into the text of agents.yaml', () => {
  const manifest = exampleManifest({ agent_id: 'b', tags: ['changed'] });

  it.each([
    ['an empty list', '# none yet\n[]\n# add here\n', ['b']],
    ['a list of another', entryOf('a'), ['a', 'b']],
    ['a list without a last line break', entryOf('a').trimEnd(), ['a', 'b']],
    ['an indented list', entryOf('a').replaceAll(/^/gm, '  ').trimEnd(), ['a', 'b']],
    ['a document with its marks', `---\n${entryOf('a')}...\n`, ['a', 'b']],
    ['lines that end as on Windows', entryOf('a').replaceAll('\n', '\r\n'), ['a', 'b']],
    ['the entry in the middle', entryOf('a') + entryOf('b') + entryOf('c'), ['a', 'b', 'c']],
    ['the entry at the end', (entryOf('a') + entryOf('b')).trimEnd(), ['a', 'b']],
    ['entries below their dashes', entryOf('b').replace('- ', '-\n  '), ['b']],
    ['entries in braces', flowEntry('a') + flowEntry('b') + flowEntry('c'), ['a', 'b', 'c']],
    ['a list in brackets', `[{${inner('a')}}, {${inner('c')}},]\n`, ['a', 'c', 'b']],
    ['a list in brackets with the entry', `[{${inner('b')}}, {${inner('c')}}]\n`, ['b', 'c']],
  ])('fits into %s', (_, text, ids) => {
    const after = putManifest(text, manifest);
    expect(idsIn(after)).toEqual(ids);
    expect(manifestsIn(after)).toContainEqual(manifest);
    expect(putManifest(after, manifest)).toBe(after);
  });

  it('leaves the comment behind an entry that it replaces', () => {
    const after = putManifest(`${flowEntry('b').trimEnd()} # why\n${entryOf('c')}`, manifest);
    expect(after).toMatch(/ # why\n- agent_id: c\n/);
    expect(manifestsIn(after)).toContainEqual(manifest);
  });

  it('can be any manifest, in any order, and the others stay', () => {
    const text = fc.string({ minLength: 1, unit: fc.constantFrom(...'aé\n\t #:-"\'[]{}&*!|>%@,') });
    const manifests = fc
      .record({
        agent_id: fc.constantFrom('a', 'b', 'c', 'd'),
        version: fc.constantFrom('1', '1.0', 'true', 'null', '~', '0x1'),
        description: text,
        tags: fc.array(text, { maxLength: 3 }),
        input_schema: fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
      })
      .map(({ input_schema, ...fields }) =>
        exampleManifest({ ...fields, capabilities: [{ name: 'work', input_schema }] }),
      );
    fc.assert(
      fc.property(fc.array(manifests, { minLength: 1, maxLength: 6 }), (puts) => {
        const expected = new Map<string, Manifest>();
        let file = '# ours\n[]\n';
        for (const put of puts) {
          expected.set(put.agent_id, put);
          file = putManifest(file, put);
        }
        expect(asJson(manifestsIn(file))).toEqual(asJson([...expected.values()]));
        expect(file.startsWith('# ours\n')).toBe(true);
      }),
    );
  });
});

/** Where `-0` is 0. */
function asJson(manifests: readonly Manifest[]): unknown {
  return JSON.parse(JSON.stringify(manifests));
}

function inner(id: string): string {
  return `agent_id: ${id}, endpoint: {transport: http, uri: 'http://x.example'}`;
}

function flowEntry(id: string): string {
  return `- {${inner(id)}}\n`;
}
