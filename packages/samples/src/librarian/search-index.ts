// Ranks passages by BM25: a passage is good when it has the words of the query, the rare ones above
// all, and has them often for its length. Words of the title count like several in the text.

import { isCommonWord, wordsOf } from '../text/words.ts';
import type { Passage } from './to-passages.ts';

export interface Hit {
  readonly passage: Passage;
  readonly score: number;
}

const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;
const TITLE_WEIGHT = 3;

export class SearchIndex {
  readonly #entries: { readonly passage: Passage; readonly terms: string[] }[];
  /** For each term the passages that have it, by number, and how often. */
  readonly #postings = new Map<string, Map<number, number>>();
  readonly #meanLength: number;

  constructor(passages: readonly Passage[]) {
    this.#entries = passages.map((passage) => ({ passage, terms: weightedTerms(passage) }));
    const total = this.#entries.reduce((sum, { terms }) => sum + terms.length, 0);
    this.#meanLength = total / Math.max(1, this.#entries.length);
    for (const [number, { terms }] of this.#entries.entries()) {
      for (const term of terms) {
        const counts = this.#postings.get(term) ?? new Map<number, number>();
        this.#postings.set(term, counts.set(number, (counts.get(number) ?? 0) + 1));
      }
    }
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Best first; passages without any word of the query are left out. */
  search(query: string, limit: number): Hit[] {
    const scores = new Map<number, number>();
    for (const term of new Set(termsOf(query))) {
      const counts = this.#postings.get(term) ?? new Map<number, number>();
      const rarity = this.#rarity(counts.size);
      for (const [number, count] of counts) {
        scores.set(number, (scores.get(number) ?? 0) + rarity * this.#weight(number, count));
      }
    }
    return [...scores]
      .sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || a - b)
      .slice(0, limit)
      .flatMap(([number, score]) => {
        const entry = this.#entries[number];
        return entry ? { passage: entry.passage, score } : [];
      });
  }

  #rarity(passages: number): number {
    return Math.log(1 + (this.#entries.length - passages + 0.5) / (passages + 0.5));
  }

  #weight(number: number, count: number): number {
    const length = (this.#entries[number]?.terms.length ?? 0) / Math.max(1, this.#meanLength);
    const normal = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
    return (count * (SATURATION + 1)) / (count + normal);
  }
}

/** What is searched for: words in lower case, parts of compound names, plurals as singulars. */
export function termsOf(text: string): string[] {
  return wordsOf(text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').replace(/[_./-]/g, ' '))
    .map((word) => word.toLowerCase())
    .filter((word) => !isCommonWord(word))
    .map((word) => word.replace(/(?<=\p{L}{3})(?:ies$)/u, 'y').replace(/(?<=\p{L}{2}[^s])s$/u, ''));
}

function weightedTerms({ title, text }: Passage): string[] {
  const inTitle = termsOf(title);
  return [...Array.from({ length: TITLE_WEIGHT }, () => inTitle).flat(), ...termsOf(text)];
}
