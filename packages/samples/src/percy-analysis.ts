// What can be said of a text without understanding it. Each question is a function of its own, so
// that percy can answer them one after the other.

import { z } from 'zod';
import { isCommonWord, wordsOf } from './text.ts';

const count = z.int().nonnegative();

export const analysisSchema = z.object({
  counts: z.object({ paragraphs: count, sentences: count, words: count, distinct_words: count }),
  reading: z.object({ ease: z.number(), grade: z.number(), label: z.string() }),
  terms: z.array(z.object({ term: z.string(), count })),
  questions: z.array(z.string()),
  claims: z.array(z.object({ sentence: z.string(), because: z.string() })),
  longest: z.object({ sentence: z.string(), words: count }),
});

export type Analysis = z.infer<typeof analysisSchema>;

const MAX_TERMS = 5;
const MAX_CLAIMS = 10;

export function countParts(text: string, sentences: readonly string[]): Analysis['counts'] {
  const words = wordsOf(text);
  return {
    paragraphs: text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== '').length,
    sentences: sentences.length,
    words: words.length,
    distinct_words: new Set(words.map((word) => word.toLowerCase())).size,
  };
}

export function rateReading(text: string, sentences: readonly string[]): Analysis['reading'] {
  return readingLevel(wordsOf(text), sentences.length);
}

/** The words it returns to most; of words said equally often, the first come first. */
export function findTerms(text: string): Analysis['terms'] {
  const counts = new Map<string, number>();
  for (const word of wordsOf(text)) {
    const term = word.toLowerCase();
    if (!isCommonWord(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  return [...counts]
    .map(([term, count]) => ({ term, count }))
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_TERMS);
}

export function findQuestions(sentences: readonly string[]): Analysis['questions'] {
  return sentences.filter(isQuestion);
}

/** Sentences that commit themselves, by a number or by a word that leaves no room. */
export function findClaims(sentences: readonly string[]): Analysis['claims'] {
  return sentences
    .filter((sentence) => !isQuestion(sentence))
    .flatMap((sentence) => {
      const because = COMMITMENT.exec(sentence)?.[0];
      return because === undefined ? [] : { sentence, because };
    })
    .slice(0, MAX_CLAIMS);
}

export function findLongest(sentences: readonly string[]): Analysis['longest'] {
  const counted = sentences.map((sentence) => ({ sentence, words: wordsOf(sentence).length }));
  return counted.reduce((a, b) => (b.words > a.words ? b : a), { sentence: '', words: 0 });
}

const COMMITMENT =
  /\b(?:all|always|because|cannot|every|must|never|no one|nobody|none|only|proves?|therefore)\b|\d+(?:[.,]\d+)*(?:\s?%)?/i;

function isQuestion(sentence: string): boolean {
  return /\?["'”’)\]]*$/.test(sentence);
}

// How hard a text is to read, by the formulas of Flesch and of Flesch and Kincaid for English. Both
// know only the length of sentences and words.

interface ReadingLevel {
  /** 100 is very easy, 0 very hard. */
  readonly ease: number;
  /** School years a reader needs. */
  readonly grade: number;
  readonly label: string;
}

export function readingLevel(words: readonly string[], sentences: number): ReadingLevel {
  const perSentence = words.length / Math.max(1, sentences);
  const syllables = words.reduce((sum, word) => sum + countSyllables(word), 0);
  const perWord = syllables / Math.max(1, words.length);
  const ease = clamp(206.835 - 1.015 * perSentence - 84.6 * perWord, 0, 100);
  const grade = clamp(0.39 * perSentence + 11.8 * perWord - 15.59, 0, 20);
  return { ease: round(ease), grade: round(grade), label: labelOf(ease) };
}

/** Groups of vowels, without a silent e; at least one. */
export function countSyllables(word: string): number {
  const spoken = word.toLowerCase().replace(/(?<=[^aeiouyl])e(?:d|s)?$/, '');
  return Math.max(1, spoken.match(/[aeiouy]+/g)?.length ?? 0);
}

function labelOf(ease: number): string {
  if (ease >= 80) return 'easy';
  if (ease >= 60) return 'plain';
  if (ease >= 40) return 'demanding';
  return 'hard';
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
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
