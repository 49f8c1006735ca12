// Cuts a markdown document into passages that can be cited: one for each heading, longer ones in
// several pieces. Headings inside code are not headings.

import type { Document } from './documents.ts';

export interface Passage {
  /** The headings that lead to it, from the outside in. */
  readonly title: string;
  readonly uri: string;
  readonly text: string;
}

const MAX_PASSAGE = 1_200;

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
