const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

/** The sentences of a text, each on one line; a heading or a list item counts as one. */
export function sentencesOf(text: string): string[] {
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*+•#]|\d+[.)])\s)/)
    .flatMap((block) => [...SENTENCES.segment(block)])
    .map(({ segment }) => segment.replace(/\s+/g, ' ').trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}
