// The librarian answers a question with the passages of the project's own documents that fit it
// best, and says where they stand. It reads them again for each question: they may have changed.

import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EventBody } from '@starloom/core';
import { z } from 'zod';
import { final, progress, type SampleAgent, speak } from './agent.ts';
import { type Hit, search, toPassages } from './librarian-search.ts';
import { several, shorten } from './text.ts';

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
      const hits = search(passages, task, limit);
      yield progress(80, `Found ${several(hits.length, 'passage')}`);

      const answer = describeHits(hits, task);
      yield* speak(answer);

      yield progress(100, 'Done');
      const data = {
        documents: documents.length,
        passages: passages.length,
        hits: hits.map(toData),
      };
      yield final(
        answer,
        data,
        hits.map(({ passage }) => ({ ...passage })),
      );
    },
  };
}

function describeHits(hits: readonly Hit[], task: string): string {
  if (hits.length === 0) return `The documents say nothing on "${shorten(task, MAX_SHOWN)}".`;
  return hits
    .map(({ passage: { title, uri, text } }, index) => {
      return `${index + 1}. ${title} (${uri})\n${shorten(text, MAX_SHOWN)}`;
    })
    .join('\n\n');
}

function toData({ passage: { title, uri }, score }: Hit) {
  return { title, uri, score: Math.round(score * 100) / 100 };
}

// The documents a librarian looks after: README.md and the markdown under docs/ of a folder, or
// those that came with this package where the folder has none. Bounded in number and size; links,
// hidden folders and installed packages are passed over.

export interface Document {
  /** Relative to the folder, with slashes. */
  readonly path: string;
  readonly text: string;
}

const MAX_DOCUMENTS = 500;
const MAX_BYTES = 1_048_576;
const SHIPPED = fileURLToPath(new URL('../docs', import.meta.url));

export async function readDocuments(folder: string): Promise<Document[]> {
  const paths = [join(folder, 'README.md')];
  for await (const path of markdownIn(join(folder, 'docs'))) paths.push(path);
  const own = await readAll(folder, paths);
  return own.length > 0 ? own : readAll(SHIPPED, await Array.fromAsync(markdownIn(SHIPPED)));
}

async function* markdownIn(folder: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* markdownIn(path);
    else if (entry.isFile() && entry.name.endsWith('.md')) yield path;
  }
}

async function readAll(folder: string, paths: readonly string[]): Promise<Document[]> {
  const documents: Document[] = [];
  for (const path of paths) {
    if (documents.length === MAX_DOCUMENTS) break;
    const text = await readBounded(path);
    if (text === undefined) continue;
    documents.push({ path: relative(folder, path).split(sep).join('/'), text });
  }
  return documents;
}

/** `undefined` for what is not there, no file of its own, or too large. */
async function readBounded(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isFile() && found.size <= MAX_BYTES ? readFile(path, 'utf8') : undefined;
}
