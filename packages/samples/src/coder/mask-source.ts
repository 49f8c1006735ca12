// The source with every character in its place, but comments blank and strings filled in, so that
// what is left can be searched without finding code in prose. White space stays.

import type { Language } from './language.ts';

const FILLER = '_';

export function maskSource(source: string, language: Language): string {
  const { lineComment, blockComment = ['', ''], quotes } = language;
  const [open, close] = blockComment;
  let masked = '';
  let at = 0;
  const take = (end: number, filler: string) => {
    masked += source.slice(at, end).replace(/\S/g, filler);
    at = end;
  };
  while (at < source.length) {
    const quote = quotes.find((mark) => source.startsWith(mark, at));
    if (quote !== undefined) take(endOfString(source, at + quote.length, quote), FILLER);
    else if (source.startsWith(lineComment, at)) take(endOf(source, '\n', at, 0), ' ');
    else if (open !== '' && source.startsWith(open, at)) {
      take(endOf(source, close, at + open.length, close.length), ' ');
    } else {
      masked += source[at];
      at += 1;
    }
  }
  return masked;
}

/** A string in single or double quotes ends with its line, whatever is in it. */
function endOfString(source: string, start: number, quote: string): number {
  const isOneLine = quote === '"' || quote === "'";
  for (let at = start; at < source.length; at += 1) {
    if (source.startsWith(quote, at)) return at + quote.length;
    if (source[at] === '\n' && isOneLine) return at;
    if (source[at] === '\\') at += 1;
  }
  return source.length;
}

function endOf(source: string, mark: string, from: number, length: number): number {
  const found = source.indexOf(mark, from);
  return found === -1 ? source.length : found + length;
}
