// The librarian answers a question with the passages of the project's own documents that fit it
// best, and says where they stand. It reads them again for each question: they may have changed.

import type { EventBody } from '@starloom/core';
import { z } from 'zod';
import type { SampleAgent } from '../agent.ts';
import { final, progress, speak } from '../events.ts';
import { several } from '../text/several.ts';
import { shorten } from '../text/shorten.ts';
import { readDocuments } from './documents.ts';
import { type Hit, SearchIndex } from './search-index.ts';
import { toPassages } from './to-passages.ts';

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
      const index = new SearchIndex(documents.flatMap(toPassages));
      const hits = index.search(task, limit);
      yield progress(80, `Found ${several(hits.length, 'passage')}`);

      const answer = describeHits(hits, task);
      yield* speak(answer);

      yield progress(100, 'Done');
      const data = { documents: documents.length, passages: index.size, hits: hits.map(toData) };
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
