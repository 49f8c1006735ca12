// Percy reads a text and says, step by step, what can be seen in it. It has no model: each step counts
// or looks something up.

import type { EventBody } from '@starloom/core';
import { z } from 'zod';
import { final, progress, type SampleAgent, speak } from './agent.ts';
import { isCommonWord, several, shorten, wordsOf } from './text.ts';

const MAX_CHARACTERS = 200_000;
const MAX_QUOTED = 120;
const MAX_TERMS = 5;

const inputSchema = z.object({
  task: z.string().min(1).max(MAX_CHARACTERS).describe('The text to think about'),
});

const count = z.int().nonnegative();

export const analysisSchema = z.object({
  counts: z.object({ paragraphs: count, sentences: count, words: count }),
  terms: z.array(z.object({ term: z.string(), count })),
  questions: z.array(z.string()),
  longest: z.object({ sentence: z.string(), words: count }),
});

type Analysis = z.infer<typeof analysisSchema>;

export const percy: SampleAgent<z.infer<typeof inputSchema>> = {
  id: 'percy',
  capability: 'reason',
  description: 'Analyses a text step by step: size, terms, questions, the longest sentence',
  input: inputSchema,
  output: analysisSchema,

  *work({ task }): Generator<EventBody> {
    const analysis = analyse(task);
    let answer = '';
    for (const [index, [step, finding]] of describe(analysis).entries()) {
      const text = index === 0 ? finding : `\n${finding}`;
      answer += text;
      yield progress(index * 25, step);
      yield* speak(text);
    }
    yield progress(100, 'Done');
    yield final(answer, analysis);
  },
};

/** Percy's work under another name and another transport, for when percy is away. */
export const percyBackup: typeof percy = {
  ...percy,
  id: 'percy-backup',
  description: `Stands in for percy. ${percy.description}`,
};

export function analyse(text: string): Analysis {
  const sentences = sentencesOf(text);
  const words = wordsOf(text);
  const measured = sentences.map((sentence) => ({ sentence, words: wordsOf(sentence).length }));
  return {
    counts: {
      paragraphs: text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== '').length,
      sentences: sentences.length,
      words: words.length,
    },
    terms: findTerms(words),
    questions: sentences.filter((sentence) => /\?["'”’)\]]*$/.test(sentence)),
    longest: measured.reduce((a, b) => (b.words > a.words ? b : a), { sentence: '', words: 0 }),
  };
}

function findTerms(words: readonly string[]): Analysis['terms'] {
  const counts = new Map<string, number>();
  for (const word of words) {
    const term = word.toLowerCase();
    if (!isCommonWord(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  return Array.from(counts, ([term, count]) => ({ term, count }))
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_TERMS);
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

/** The sentences of a text, each on one line; a heading or a list item counts as one. */
export function sentencesOf(text: string): string[] {
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*+•#]|\d+[.)])\s)/)
    .flatMap((block) => [...SENTENCES.segment(block)])
    .map(({ segment }) => segment.replace(/\s+/g, ' ').trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

function describe({ counts, terms, questions, longest }: Analysis): [string, string][] {
  const size = `${several(counts.words, 'word')} in ${several(counts.sentences, 'sentence')}`;
  const about = terms.map(({ term, count }) => `${term} (${count})`).join(', ');
  const [question] = questions;
  const asked = question ? `It asks: "${shorten(question, MAX_QUOTED)}"` : 'It asks nothing.';
  const quoted = `${several(longest.words, 'word')}: "${shorten(longest.sentence, MAX_QUOTED)}"`;
  return [
    ['Counting', `${size}, ${several(counts.paragraphs, 'paragraph')}.`],
    ['Looking for terms', about === '' ? 'It has no term of its own.' : `It is about ${about}.`],
    ['Looking for questions', asked],
    ['Finding the longest sentence', `The longest sentence has ${quoted}`],
  ];
}
