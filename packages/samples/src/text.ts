const WORDS = new Intl.Segmenter('en', { granularity: 'word' });

export function wordsOf(text: string): string[] {
  return [...WORDS.segment(text)].flatMap(({ segment, isWordLike }) => (isWordLike ? segment : []));
}

export function isCommonWord(word: string): boolean {
  return word.length < 2 || COMMON.has(word.toLowerCase());
}

const COMMON = new Set(
  `a about after all also an and any are as at be because been before both but by can could did do
  does each every for from get had has have he her here him his how i if in into is it its just
  like make may me more most much must my no not now of off on one only or other our out over own
  same she should so some such than that the their them then there these they this those to too two
  under until up us use very was we were what when where which while who why will with would you
  your`.split(/\s+/),
);

export function several(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export function shorten(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).trimEnd()}…`;
}
