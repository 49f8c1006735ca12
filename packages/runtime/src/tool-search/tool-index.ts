// Tools found by what is wanted. Two searches look at the same words: one by words that are the same
// (BM25), one by vectors, which also finds words that are alike. The first says more, the second adds to it.

import type { ITool } from '@starloom/sdk';

const K1 = 1.2;
const B = 0.75;
/** Of the nearest vector, where the best by words has 1. */
const NEAR_WEIGHT = 0.3;
/** Tools below this are not related to the query. */
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

const WORD = /\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{N}+|\p{Lo}/gu;
const ENDING = /(?:ings?|edly|ed|ies|es|s|e)$/;
const MIN_STEM = 3;

const EMPTY = new Set(
  'a an and are as at be by can could do for from get give how i in into is it its me my of on or our please that the their them there this to use want was we what when which will with would you your'.split(
    ' ',
  ),
);

/** Words as a search compares them: joined names are split, endings and common words left out. */
function wordsOf(text: string): string[] {
  const words = text.match(WORD)?.map((word) => word.toLowerCase()) ?? [];
  return words.filter((word) => !EMPTY.has(word)).map(stem);
}

/** A rough stem, the same for tools and queries. */
function stem(word: string): string {
  const [ending = ''] = ENDING.exec(word) ?? [];
  return word.length - ending.length < MIN_STEM ? word : word.slice(0, word.length - ending.length);
}

const PLACES = 512;
const PIECE = 3;

type Vector = Float32Array;

/**
 * A text as a vector: pieces of three characters, counted at places that a hash gives. Texts with similar
 * words are near each other, also where a word is inflected. Vectors have length 1, so that the product of
 * two says how near they are.
 */
function toVector(words: Iterable<string>, weightOf: (word: string) => number): Vector {
  const vector = new Float32Array(PLACES);
  for (const word of words) {
    const padded = ` ${word} `;
    const count = Math.max(1, padded.length - PIECE + 1);
    const weight = weightOf(word) / Math.sqrt(count);
    for (let at = 0; at < count; at += 1) {
      const hash = hashOf(padded, at, Math.min(at + PIECE, padded.length));
      // Half of the pieces count down: two that share a place by chance do not add up.
      const sign = hash & 1 ? -1 : 1;
      const place = (hash >>> 1) % PLACES;
      vector[place] = (vector[place] ?? 0) + sign * weight;
    }
  }
  return toUnit(vector);
}

function product(one: Vector, other: Vector): number {
  let sum = 0;
  for (let at = 0; at < PLACES; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

function toUnit(vector: Vector): Vector {
  const length = Math.sqrt(product(vector, vector));
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** FNV-1a. */
function hashOf(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
