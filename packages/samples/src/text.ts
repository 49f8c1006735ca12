const WORDS = new Intl.Segmenter('en', { granularity: 'word' });

/** The words as they stand in the text, without punctuation. */
export function wordsOf(text: string): string[] {
  return [...WORDS.segment(text)].flatMap(({ segment, isWordLike }) => (isWordLike ? segment : []));
}

/** Words that say nothing of what a text is about. */
export function isCommonWord(word: string): boolean {
  return word.length < 2 || COMMON.has(word.toLowerCase());
}

const COMMON = new Set(
  `a about above after again all also am an and any are as at be because been before being below
  between both but by can could did do does doing done down during each either else ever every few
  for from further get gets had has have having he her here hers him his how however i if in into is
  it its itself just let like made make makes many may me might more most much must my no nor not
  now of off on once one only or other our out over own per said same say shall she should since so
  some such than that the their them then there these they this those through to too two under
  until up upon us use used very was we were what when where whether which while who whom why will
  with within without would yes yet you your`.split(/\s+/),
);

/** `1 word`, `2 words`. */
export function several(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The text, or its beginning where it is longer than `limit` characters. */
export function shorten(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).trimEnd()}…`;
}
