// How hard a text is to read, by the formulas of Flesch and of Flesch and Kincaid for English. Both
// know only the length of sentences and words.

export interface ReadingLevel {
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
