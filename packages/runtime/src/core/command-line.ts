// Words of a typed line. Blanks part words; a quote at the beginning of a word, or behind `key=`,
// holds them together. In double quotes \" \\ \n and \t are read, single quotes take everything as
// it is. Outside of quotes a backslash takes a blank, a quote or itself as it is, so that paths of
// Windows need no doubling.

export interface Word {
  readonly text: string;
  /** How many characters from the left stood outside of quotes: only there is syntax. */
  readonly plain: number;
}

const WHITE = /\s/;
const KEY_BEFORE_QUOTE = /^(?:--)?[^\s"'=]+=$/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', '"': '"', '\\': '\\' };

/** The words, or `undefined` when a quote is not closed. */
export function splitWords(line: string): Word[] | undefined {
  const words: Word[] = [];
  let at = 0;
  for (;;) {
    while (at < line.length && WHITE.test(line.charAt(at))) at += 1;
    if (at >= line.length) return words;
    const word = readWord(line, at);
    if (word === undefined) return undefined;
    words.push({ text: word.text, plain: word.plain });
    at = word.end;
  }
}

/** The text as one word that reads back as itself, and as nothing but text. */
export function quoteWord(text: string): string {
  if (/^[^\s"'\\=-][^\s"'\\=]*$/.test(text)) return text;
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

interface ReadWord extends Word {
  readonly end: number;
}

function readWord(line: string, start: number): ReadWord | undefined {
  let text = '';
  let at = start;
  while (at < line.length && !WHITE.test(line.charAt(at))) {
    const character = line.charAt(at);
    const opens = (character === '"' || character === "'") && isQuotable(text);
    if (opens) return readQuoted(line, at, text);
    const next = line.charAt(at + 1);
    const isEscape = character === '\\' && next !== '' && /[\s"'\\]/.test(next);
    text += isEscape ? next : character;
    at += isEscape ? 2 : 1;
  }
  return { text, plain: text.length, end: at };
}

function isQuotable(before: string): boolean {
  return before === '' || KEY_BEFORE_QUOTE.test(before);
}

function readQuoted(line: string, open: number, before: string): ReadWord | undefined {
  const quote = line.charAt(open);
  let text = before;
  for (let at = open + 1; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (character === quote) return { text, plain: before.length, end: at + 1 };
    const escaped = quote === '"' && character === '\\' ? ESCAPES[line.charAt(at + 1)] : undefined;
    text += escaped ?? character;
    if (escaped !== undefined) at += 1;
  }
  return undefined;
}
