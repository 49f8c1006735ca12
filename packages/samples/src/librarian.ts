// The librarian answers a question with the passages of the project's own documents that fit it
// best, and cites them. It reads them again for each question: they may have changed.

import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EventBody } from '@starloom/core';
import { z } from 'zod';
import { final, progress, type SampleAgent, speak } from './agent.ts';
import { isCommonWord, several, shorten, wordsOf } from './text.ts';

const inputSchema = z.object({
  task: z.string().min(1).max(2_000).describe('What you want to know'),
  limit: z.int().min(1).max(10).default(3).describe('How many passages'),
});

const outputSchema = z.object({
  documents: z.int().nonnegative(),
  passages: z.int().nonnegative(),
  hits: z.array(z.object({ title: z.string(), uri: z.string(), score: z.number() })),
});

const MAX_SHOWN = 400;
const MAX_CITED = 1_200;

export function createLibrarian(folder: string): SampleAgent<z.infer<typeof inputSchema>> {
  return {
    id: 'librarian',
    capability: 'lookup',
    description: "Searches the project's own documents and answers with passages and citations",
    input: inputSchema,
    output: outputSchema,

    async *work({ task, limit }): AsyncGenerator<EventBody> {
      yield progress(0, 'Reading the documents');
      const documents = await readDocuments(folder);
      yield progress(40, `Searching ${several(documents.length, 'document')}`);
      const passages = documents.flatMap(toPassages);
      const found = search(passages, task, limit);
      yield progress(80, `Found ${several(found.length, 'passage')}`);
      const answer = describe(found, task);
      yield* speak(answer);
      yield progress(100, 'Done');
      const hits = found.map(({ title, uri, score }) => ({ title, uri, score }));
      const data = { documents: documents.length, passages: passages.length, hits };
      const cited = found.map(({ title, uri, text }) => {
        return { title, uri, text: shorten(text, MAX_CITED) };
      });
      yield final(answer, data, cited);
    },
  };
}

function describe(found: readonly Passage[], task: string): string {
  if (found.length === 0) return `The documents say nothing on "${shorten(task, MAX_SHOWN)}".`;
  return found
    .map(({ title, uri, text }, at) => `${at + 1}. ${title} (${uri})\n${shorten(text, MAX_SHOWN)}`)
    .join('\n\n');
}

export interface Document {
  /** Relative to the folder, with slashes. */
  readonly path: string;
  readonly text: string;
}

const MAX_DOCUMENTS = 500;
const MAX_BYTES = 1_048_576;
const SHIPPED = fileURLToPath(new URL('../docs', import.meta.url));

/**
 * README.md and the markdown under docs/ of a folder, or what came with this package where the folder
 * has none. Links, hidden folders and installed packages are left out.
 */
export async function readDocuments(folder: string): Promise<Document[]> {
  const pages = await markdownIn(join(folder, 'docs'));
  const own = await readAll(folder, [join(folder, 'README.md'), ...pages]);
  return own.length > 0 ? own : readAll(SHIPPED, await markdownIn(SHIPPED));
}

async function markdownIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  return names
    .filter((name) => name.endsWith('.md') && !/(?:^|[\\/])(?:\.|node_modules[\\/])/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

async function readAll(folder: string, paths: readonly string[]): Promise<Document[]> {
  const documents: Document[] = [];
  for (const path of paths.slice(0, MAX_DOCUMENTS)) {
    const found = await lstat(path).catch(() => undefined);
    if (!found?.isFile() || found.size > MAX_BYTES) continue;
    const name = relative(folder, path).split(sep).join('/');
    documents.push({ path: name, text: await readFile(path, 'utf8') });
  }
  return documents;
}

export interface Passage {
  /** The headings that lead to it, from the outside in. */
  readonly title: string;
  readonly uri: string;
  readonly text: string;
}

/** One passage for each heading. Headings inside code are not headings. */
export function toPassages({ path, text }: Document): Passage[] {
  const passages: Passage[] = [];
  const headings: string[] = [];
  let lines: string[] = [];
  let uri = path;
  let isCode = false;
  const flush = () => {
    const passage = lines.join('\n').trim();
    const title = headings.filter(Boolean).join(' › ') || path;
    if (passage !== '') passages.push({ title, uri, text: passage });
    lines = [];
  };
  for (const line of text.split('\n')) {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
    const [, marks, name = ''] = (!isCode && /^(#{1,6})\s+(.*?)\s*#*$/.exec(line)) || [];
    if (marks === undefined) {
      lines.push(line);
      continue;
    }
    flush();
    headings.splice(marks.length - 1, headings.length, name);
    uri = `${path}#${toSlug(name)}`;
  }
  flush();
  return passages;
}

/** The anchor GitHub gives a heading. */
export function toSlug(heading: string): string {
  const plain = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '');
  return plain.trim().replace(/\s/g, '-');
}

const TITLE_WEIGHT = 3;

/** Best first: rare words of the query count for more, words in the title like several in the text. */
export function search(passages: readonly Passage[], query: string, limit: number) {
  const held = passages.map(({ title, text }) => countTerms(title, text));
  const wanted = [...new Set(termsOf(query))].map((term) => {
    const holders = held.filter((counts) => counts.has(term)).length;
    return { term, rarity: Math.log(1 + passages.length / Math.max(1, holders)) };
  });
  return passages
    .map((passage, index) => {
      const score = wanted.reduce((sum, { term, rarity }) => {
        const times = held[index]?.get(term) ?? 0;
        return sum + (rarity * times) / (times + 1);
      }, 0);
      return { ...passage, score: Math.round(score * 100) / 100 };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit);
}

function countTerms(title: string, text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (term: string, weight: number) => counts.set(term, (counts.get(term) ?? 0) + weight);
  for (const term of termsOf(title)) add(term, TITLE_WEIGHT);
  for (const term of termsOf(text)) add(term, 1);
  return counts;
}

/** What is searched for: words in lower case, parts of compound names, plurals as singulars. */
export function termsOf(text: string): string[] {
  return wordsOf(text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').replace(/[_./-]/g, ' '))
    .map((word) => word.toLowerCase())
    .filter((word) => !isCommonWord(word))
    .map((word) => word.replace(/(?<=\p{L}{3})ies$/u, 'y').replace(/(?<=\p{L}{2}[^s])s$/u, ''));
}
