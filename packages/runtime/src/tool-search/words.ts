// The words of a text as a search compares them: apart where names are joined, without endings, without
// those that say nothing.

const WORD = /\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{N}+|\p{Lo}/gu;
const ENDING = /(?:ings?|edly|ed|ies|es|s|e)$/;
const MIN_STEM = 3;

const EMPTY = new Set(
  'a an and are as at be by can could do for from get give how i in into is it its me my of on or our please that the their them there this to use want was we what when which will with would you your'.split(
    ' ',
  ),
);

export function wordsOf(text: string): string[] {
  const words = text.match(WORD)?.map((word) => word.toLowerCase()) ?? [];
  return words.filter((word) => !EMPTY.has(word)).map(stem);
}

/** Rough, and the same on both sides. */
function stem(word: string): string {
  const [ending = ''] = ENDING.exec(word) ?? [];
  return word.length - ending.length < MIN_STEM ? word : word.slice(0, word.length - ending.length);
}
