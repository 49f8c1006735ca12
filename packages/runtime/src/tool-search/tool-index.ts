// Tools found by what is wanted. Two searches look at the same words: one by words that are the same
// (BM25), one by vectors, which also finds words that are alike. The first says more, the second adds to it.

import type { ITool } from '@starloom/sdk';
import { product, toVector, type Vector } from './word-vectors.ts';
import { wordsOf } from './words.ts';

const K1 = 1.2;
const B = 0.75;
/** Of the nearest vector, where the best by words has 1. */
const NEAR_WEIGHT = 0.3;
/** What is further away has nothing to do with it. */
const LEAST_NEAR = 0.15;
const NAME_WEIGHT = 3;
const MAX_CHARACTERS = 2_000;

interface Entry {
  readonly name: string;
  readonly length: number;
  readonly vector: Vector;
}

interface Posting {
  readonly at: number;
  readonly count: number;
}

export class ToolIndex {
  readonly #entries: readonly Entry[];
  readonly #postings = new Map<string, Posting[]>();
  readonly #averageLength: number;

  constructor(tools: Iterable<ITool>) {
    const documents = Array.from(tools, (tool) => ({ name: tool.name, words: wordsOfTool(tool) }));
    for (const [at, { words }] of documents.entries()) {
      for (const [word, count] of countsOf(words)) {
        const found = this.#postings.get(word);
        if (found) found.push({ at, count });
        else this.#postings.set(word, [{ at, count }]);
      }
    }
    const total = documents.reduce((sum, { words }) => sum + words.length, 0);
    this.#averageLength = Math.max(1, total / Math.max(1, documents.length));
    this.#entries = documents.map(({ name, words }) => ({
      name,
      length: words.length,
      vector: toVector(new Set(words), (word) => this.#rarity(word, documents.length)),
    }));
  }

  /** The names of those that fit best, the best first; fewer when fewer fit. */
  search(query: string, top: number): string[] {
    const words = [...new Set(wordsOf(query.slice(0, MAX_CHARACTERS)))];
    const byWords = this.#byWords(words);
    const most = Math.max(...byWords.values());
    const scores = new Map(byWords.entries().map(([at, score]) => [at, score / most]));
    for (const [at, near] of this.#byVector(words)) {
      scores.set(at, (scores.get(at) ?? 0) + NEAR_WEIGHT * near);
    }
    return scores
      .entries()
      .toArray()
      .toSorted(([atA, a], [atB, b]) => b - a || atA - atB)
      .slice(0, top)
      .map(([at]) => this.#entries[at]?.name ?? '');
  }

  #byWords(words: readonly string[]): Map<number, number> {
    const scores = new Map<number, number>();
    for (const word of words) {
      const rarity = this.#rarity(word, this.#entries.length);
      for (const { at, count } of this.#postings.get(word) ?? []) {
        const relative = (this.#entries[at]?.length ?? 0) / this.#averageLength;
        const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + B * relative));
        scores.set(at, (scores.get(at) ?? 0) + rarity * weight);
      }
    }
    return scores;
  }

  #byVector(words: readonly string[]): Map<number, number> {
    const wanted = toVector(words, (word) => this.#rarity(word, this.#entries.length));
    const scores = new Map<number, number>();
    for (const [at, { vector }] of this.#entries.entries()) {
      const near = product(wanted, vector);
      if (near >= LEAST_NEAR) scores.set(at, near);
    }
    return scores;
  }

  /** A word that few tools have says more. */
  #rarity(word: string, documents: number): number {
    const having = this.#postings.get(word)?.length ?? 0;
    return Math.log(1 + (documents - having + 0.5) / (having + 0.5));
  }
}

function wordsOfTool({ name, description, parameters }: ITool): string[] {
  const named = wordsOf(name);
  const { properties } = parameters as { properties?: Readonly<Record<string, unknown>> };
  const rest = [description, ...Object.entries(properties ?? {}).map(toText)].join('\n');
  return [
    ...Array.from({ length: NAME_WEIGHT }, () => named).flat(),
    ...wordsOf(rest.slice(0, MAX_CHARACTERS)),
  ];
}

function toText([key, schema]: readonly [string, unknown]): string {
  const { description } = Object(schema) as { description?: unknown };
  return typeof description === 'string' ? `${key} ${description}` : key;
}

function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
