// Cuts markdown into passages that can be cited, and ranks them by BM25: a passage is good when it has
// the words of the query, the rare ones above all, and has them often for its length. Words of the
// title count like several in the text.

import type { Document } from './librarian.ts';
import { isCommonWord, wordsOf } from './text.ts';

export interface Hit {
  readonly passage: Passage;
  readonly score: number;
}

const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;
const TITLE_WEIGHT = 3;

/** Best first; passages without any word of the query are left out. */
export function search(passages: readonly Passage[], query: string, limit: number): Hit[] {
  const entries = passages.map((passage) => ({ passage, ...countTerms(passage) }));
  const total = entries.reduce((sum, { length }) => sum + length, 0);
  const scores = entries.map(() => 0);
  for (const term of new Set(termsOf(query))) {
    const having = entries.filter(({ counts }) => counts.has(term)).length;
    const rarity = Math.log(1 + (entries.length - having + 0.5) / (having + 0.5));
    for (const [index, { counts, length }] of entries.entries()) {
      const count = counts.get(term) ?? 0;
      const relative = (length * entries.length) / Math.max(1, total);
      const normal = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relative);
      scores[index] = (scores[index] ?? 0) + (rarity * count * (SATURATION + 1)) / (count + normal);
    }
  }
  return entries
    .map(({ passage }, index) => ({ passage, score: scores[index] ?? 0 }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit);
}

function countTerms({ title, text }: Passage) {
  const inTitle = termsOf(title);
  const terms = [...Array.from({ length: TITLE_WEIGHT }, () => inTitle).flat(), ...termsOf(text)];
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return { counts, length: terms.length };
}

/** What is searched for: words in lower case, parts of compound names, plurals as singulars. */
export function termsOf(text: string): string[] {
  return wordsOf(text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').replace(/[_./-]/g, ' '))
    .map((word) => word.toLowerCase())
    .filter((word) => !isCommonWord(word))
    .map((word) => word.replace(/(?<=\p{L}{3})(?:ies$)/u, 'y').replace(/(?<=\p{L}{2}[^s])s$/u, ''));
}

export interface Passage {
  /** The headings that lead to it, from the outside in. */
  readonly title: string;
  readonly uri: string;
  readonly text: string;
}

const MAX_PASSAGE = 1_200;

/** One passage for each heading, longer ones in pieces. Headings inside code are not headings. */
export function toPassages({ path, text }: Document): Passage[] {
  const passages: Passage[] = [];
  const headings: string[] = [];
  let block: string[] = [];
  let uri = path;
  const flush = () => {
    const title = headings.filter(Boolean).join(' › ') || path;
    for (const piece of pieces(block.join('\n'))) passages.push({ title, uri, text: piece });
    block = [];
  };
  const isCode = fences();
  for (const line of text.split('\n')) {
    const heading = isCode(line) ? undefined : /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (!heading) {
      block.push(line);
      continue;
    }
    flush();
    const [, marks = '', name = ''] = heading;
    headings.splice(marks.length - 1, headings.length, name);
    uri = `${path}#${toSlug(name)}`;
  }
  flush();
  return passages;
}

/** The anchor GitHub gives a heading. */
export function toSlug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

/** Says of one line after the other whether it belongs to a block of code. */
function fences(): (line: string) => boolean {
  let fence: string | undefined;
  return (line) => {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (mark === undefined) return fence !== undefined;
    if (fence === undefined) fence = mark;
    else if (mark.startsWith(fence)) fence = undefined;
    return true;
  };
}

/** Whole paragraphs, as many as fit; a paragraph that is too long stands alone. */
function pieces(text: string): string[] {
  const found: string[] = [];
  for (const paragraph of text.split(/\n\s*\n/)) {
    const last = found.at(-1);
    const trimmed = paragraph.replace(/^\n+|\s+$/g, '');
    if (trimmed === '') continue;
    if (last !== undefined && last.length + trimmed.length < MAX_PASSAGE) {
      found[found.length - 1] = `${last}\n\n${trimmed}`;
    } else found.push(trimmed);
  }
  return found;
}
