import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '@starloom/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createLibrarian,
  type Passage,
  readDocuments,
  search,
  termsOf,
  toPassages,
  toSlug,
} from '../src/librarian.ts';
import { textOf } from './fixtures/open-agent.ts';

const GUIDE = `Before any heading.

# Guide

Hello.

## Locks & leases

A lock is taken before the context is written.

\`\`\`sh
# this is no heading
\`\`\`

## Jobs

A job outlives the gateway.
`;

/** A folder with these files. */
async function project(files: Record<string, string>) {
  const folder = await temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await writeFile(join(folder.path, path), text);
  }
  return folder;
}

describe('the documents', () => {
  it('are README.md and the markdown under docs/, and nothing else', async () => {
    await using folder = await project({
      'README.md': 'read me',
      'docs/guide.md': GUIDE,
      'docs/decisions/0001.md': 'why',
      'docs/picture.svg': '<svg/>',
      'docs/node_modules/package/README.md': 'not ours',
      'docs/.hidden/secret.md': 'secret',
      'notes.md': 'private',
      'large/docs/large.md': 'elsewhere',
    });
    await symlink(join(folder.path, 'notes.md'), join(folder.path, 'docs/link.md'));
    const documents = await readDocuments(folder.path);
    expect(documents.map(({ path }) => path)).toEqual([
      'README.md',
      'docs/decisions/0001.md',
      'docs/guide.md',
    ]);
  });

  it('leave out a file that is too large', async () => {
    await using folder = await project({ 'README.md': 'x'.repeat(1_048_577), 'docs/a.md': 'a' });
    expect((await readDocuments(folder.path)).map(({ path }) => path)).toEqual(['docs/a.md']);
  });

  it('are those of this package where the folder has none', async () => {
    await using folder = await project({});
    const documents = await readDocuments(folder.path);
    expect(documents.map(({ path }) => path)).toContain('sample-agents.md');
  });
});

describe('the passages of a document', () => {
  it('are cut at headings outside of code, and say where they stand', () => {
    const passages = toPassages({ path: 'docs/guide.md', text: GUIDE });
    expect(passages.map(({ title, uri }) => [title, uri])).toEqual([
      ['docs/guide.md', 'docs/guide.md'],
      ['Guide', 'docs/guide.md#guide'],
      ['Guide › Locks & leases', 'docs/guide.md#locks--leases'],
      ['Guide › Jobs', 'docs/guide.md#jobs'],
    ]);
    expect(passages[2]?.text).toContain('# this is no heading');
  });

  it('have the anchors that GitHub gives', () => {
    expect(toSlug('The path of one `fabric.call`')).toBe('the-path-of-one-fabriccall');
    expect(toSlug('  Größe & Maß_1 ')).toBe('größe--maß_1');
  });
});

describe('the search', () => {
  const passage = (title: string, text: string) => ({ title, uri: `${title}.md`, text });
  const titles = (passages: readonly Passage[], query: string) =>
    search(passages, query, 10).map(({ title }) => title);

  it('prefers rare words to frequent ones', () => {
    const passages = [
      passage('one', 'agent agent agent agent'),
      passage('two', 'agent breaker'),
      passage('three', 'agent'),
    ];
    expect(titles(passages, 'agent breaker')[0]).toBe('two');
  });

  it('prefers a word in the title', () => {
    const passages = [
      passage('something else', 'the breaker is mentioned once in here'),
      passage('the breaker', 'it opens after five failures in a row'),
    ];
    expect(titles(passages, 'breaker')).toEqual(['the breaker', 'something else']);
  });

  it('finds parts of compound names, and singulars for plurals', () => {
    expect(termsOf('resolveFallbacks of agent_registry/health-checks')).toEqual([
      'resolve',
      'fallback',
      'agent',
      'registry',
      'health',
      'check',
    ]);
    expect(termsOf('capabilities')).toEqual(termsOf('capability'));
  });

  it('finds nothing for a query of common words only, or unknown ones', () => {
    const passages = [passage('one', 'agent and the fabric')];
    expect(titles(passages, 'and the of')).toEqual([]);
    expect(titles(passages, 'zebra')).toEqual([]);
    expect(titles([], 'agent')).toEqual([]);
  });

  it('finds, for any word of a passage, that passage among the hits, best first', () => {
    const word = fc.constantFrom('agent', 'fabric', 'loom', 'thread', 'weave', 'pattern');
    const passages = fc.array(fc.array(word, { minLength: 1, maxLength: 12 }), { minLength: 1 });
    fc.assert(
      fc.property(passages, word, (texts, query) => {
        const passages = texts.map((words, number) => passage(String(number), words.join(' ')));
        const hits = search(passages, query, texts.length);
        const scores = hits.map(({ score }) => score);
        expect(scores).toEqual([...scores].sort((a, b) => b - a));
        expect(new Set(hits.map(({ title }) => title))).toEqual(
          new Set(texts.flatMap((words, number) => (words.includes(query) ? String(number) : []))),
        );
      }),
    );
  });
});

describe('the librarian', () => {
  it('answers with passages and cites them', async () => {
    await using folder = await project({ 'docs/guide.md': GUIDE });
    const librarian = createLibrarian(folder.path);
    const events = await Array.fromAsync(librarian.work({ task: 'take a lock', limit: 1 }));
    expect(events.at(-1)).toMatchObject({
      type: 'final',
      data: {
        answer: textOf(events),
        citations: [
          {
            title: 'Guide › Locks & leases',
            uri: 'docs/guide.md#locks--leases',
            text: expect.stringContaining('A lock is taken'),
          },
        ],
        data: { documents: 1, passages: 4, hits: [{ uri: 'docs/guide.md#locks--leases' }] },
      },
    });
  });

  it('says so when the documents say nothing', async () => {
    await using folder = await project({ 'docs/guide.md': GUIDE });
    const librarian = createLibrarian(folder.path);
    const events = await Array.fromAsync(librarian.work({ task: 'zebra', limit: 3 }));
    expect(textOf(events)).toBe('The documents say nothing on "zebra".');
    expect(events.at(-1)).toMatchObject({ type: 'final', data: { citations: [] } });
  });
});
