import { agentsFileSchema, type Manifest } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { putManifest, removeManifest } from '../src/agents-text.ts';
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

describe('an entry removed from the text of agents.yaml', () => {
  it.each([
    ['the only entry', entryOf('b'), []],
    ['the first entry', entryOf('b') + entryOf('c'), ['c']],
    ['the entry in the middle', entryOf('a') + entryOf('b') + entryOf('c'), ['a', 'c']],
    ['the last entry', entryOf('a') + entryOf('b').trimEnd(), ['a']],
    ['an indented entry', (entryOf('a') + entryOf('b')).replaceAll(/^/gm, '  '), ['a']],
    ['lines that end as on Windows', (entryOf('b') + entryOf('c')).replaceAll('\n', '\r\n'), ['c']],
    ['an entry below its dash', entryOf('b').replace('- ', '-\n  ') + entryOf('c'), ['c']],
    ['entries in braces', flowEntry('a') + flowEntry('b') + flowEntry('c'), ['a', 'c']],
    ['the first in brackets', `[{${inner('b')}}, {${inner('c')}}]\n`, ['c']],
    ['the last in brackets', `[{${inner('a')}}, {${inner('b')}}]\n`, ['a']],
    ['the only one in brackets', `[{${inner('b')}}]\n`, []],
    ['a list without it', entryOf('a'), ['a']],
  ])('leaves the others of %s', (_, text, ids) => {
    expect(idsIn(removeManifest(text, { agentId: 'b' }))).toEqual(ids);
  });

  it('takes the comment right above it along, and no other', () => {
    const text = `# ours\n# first\n${entryOf('a')}\n# the second\n${entryOf('b')}\n# third\n${entryOf('c')}`;
    expect(removeManifest(text, { agentId: 'b' })).toBe(
      `# ours\n# first\n${entryOf('a')}\n\n# third\n${entryOf('c')}`,
    );
    expect(removeManifest(text, { agentId: 'a' })).toMatch(/^# ours\n\n# the second\n/);
  });
});
