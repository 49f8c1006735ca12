// Whether a text names a value: exactly, on normalised forms. Case, Unicode form and white space do
// not count; a value must stand on its own, so `example.com` does not name `evil-example.com`, nor
// `report` `report.exe`.

import { wordSet } from './tool-name.ts';

const NUMBER = /\d[\d,' ]*(?:\.\d+)?/g;
const MONEY =
  /(?:[$€£¥]|\b(?:eur|usd|gbp|chf|nok|sek|dkk|jpy)\b)\s*\d[\d,' ]*(?:\.\d+)?|\d[\d,' ]*(?:\.\d+)?\s*(?:[$€£¥]|\b(?:eur|usd|gbp|chf|nok|sek|dkk|jpy|euros?|dollars?|pounds?|francs?|kroner|cents?)\b)/g;
const NUMBER_WORDS = (
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen ' +
  'sixteen seventeen eighteen nineteen twenty'
).split(' ');
/** Words of every request: as a value they name nothing. */
const EMPTY_WORDS = wordSet(
  'a an and are as at be by do for from has have i if in is it its me my no not of on or our out she so that the their ' +
    'them then there they this to up us was we were what when which who will with you your all any new please file files ' +
    'user users name id none null true false',
);

/** What the user does not want ("but do not send it"), and nouns that could be verbs ("my post"). */
const NOT_ASKED =
  /\b(?:(?:not|never|without|don['’]t)\s+(?:\p{L}+\s+)?|(?:the|an?|my|your|this|that|his|her|our|their|its|of)\s+)\p{L}+/gu;

export class Words {
  /** As it was written. */
  readonly text: string;
  readonly #plain: string;
  #compact: string | undefined;
  #sequence: string | undefined;
  #numbers: ReadonlySet<number> | undefined;
  #set: ReadonlySet<string> | undefined;
  #verbs: ReadonlySet<string> | undefined;

  constructor(text: string) {
    this.text = text;
    const apart = text.replaceAll(/(\p{Ll}[.!?])(\p{Lu}\p{Ll})/gu, '$1 $2');
    this.#plain = normalise(apart === text ? text : `${text} ${apart}`);
  }

  has(value: string): boolean {
    const wanted = normalise(value);
    if (wanted === '' || EMPTY_WORDS.has(wanted)) return false;
    // Another letter that Unicode takes for the same is still another file or host.
    if (wanted !== plainForm(value, 'NFC')) return this.text.includes(value);
    return standsIn(this.#plain, wanted) || this.#hasCode(wanted);
  }

  /** A number of a few digits names something only beside a word for it: `file 13`, `#13`, `"13"`. */
  hasShortNumber(value: string, nouns: readonly string[]): boolean {
    const before = `(?:#|"|'|\\b(?:${[...nouns, 'id', 'number', 'nr', 'no'].join('|')})s?[.:]?\\s*#?["']?)`;
    return new RegExp(`${before}${value}(?![\\d:,.%]\\d|\\d)`, 'u').test(this.#plain);
  }

  /**
   * At least half of the value, and two words side by side: `grocery list` of `grocery-list.docx`. A title
   * that merely mentions what the user said is not meant.
   */
  hasPart(value: string): boolean {
    if (/@|:\/\//.test(value)) return false;
    this.#sequence ??= ` ${tokensOf(this.#plain).join(' ')} `;
    const parts = tokensOf(normalise(value)).filter(isTelling);
    const length = Math.max(2, Math.ceil(parts.length / 2));
    return parts.some((_, at) => {
      const run = parts.slice(at, at + length);
      return run.length === length && this.#sequence?.includes(` ${run.join(' ')} `);
    });
  }

  /** Where the user wrote sums of money, other numbers (dates, accounts) are none. */
  hasNumber(value: number): boolean {
    this.#numbers ??= numbersIn(this.#plain.match(MONEY)?.join(' ; ') ?? this.#plain);
    return this.#numbers.has(value);
  }

  /** As a name: with a capital, marked, or after a word that leads to one. `summary` in "send a summary" is none. */
  hasName(value: string): boolean {
    if (!/^\p{Ll}+$/u.test(value) || !this.has(value)) return this.has(value);
    const before = `(?:[#@"'“]|\\b(?:to|for|with|at|in|into|on|from|by|of|and|or|tell|ask|invite|add|pay|give|message|mail|email|remind|let|thank|channel|group|room|user|member|account|called|named)\\s+(?:the\\s+|my\\s+|our\\s+)?[#@]?)`;
    const capital = `${value.charAt(0).toUpperCase()}${value.slice(1)}`;
    return new RegExp(`${before}${value}\\b|\\b${capital}\\b|,\\s*${value}\\b`, 'u').test(
      this.text,
    );
  }

  /** The word, in the form it has or as its plural, past or `-ing` form. */
  hasForm(word: string): boolean {
    this.#set ??= new Set(tokensOf(this.#plain).map(stem));
    return this.#set.has(stem(word));
  }

  /** The word as a verb, as far as that can be known. */
  asksTo(verb: string): boolean {
    this.#verbs ??= new Set(tokensOf(this.#plain.replaceAll(NOT_ASKED, ' ')).map(stem));
    return this.#verbs.has(stem(verb));
  }

  /** Long numbers are also written in groups: accounts, phones, cards. */
  #hasCode(wanted: string): boolean {
    if ((wanted.match(/\d/g)?.length ?? 0) < 6) return false;
    const code = compact(wanted);
    this.#compact ??= compact(this.#plain);
    return code.length >= 8 && /^[a-z]{0,4}\d[a-z\d]*$/.test(code) && this.#compact.includes(code);
  }
}

export function normalise(text: string): string {
  return plainForm(text, 'NFKC');
}

function plainForm(text: string, form: 'NFC' | 'NFKC'): string {
  return text.normalize(form).toLowerCase().replaceAll(/\s+/g, ' ').trim();
}

/** Fences, quotations, tags, and what follows the header of a mail. */
const PASTED =
  /```[\s\S]*?(?:```|$(?![\s\S]))|"""[\s\S]*?(?:"""|$(?![\s\S]))|<([a-z][\w-]*)\b[^>]*>[\s\S]*?<\/\1>|^(?:[ \t]*>.*(?:\n|$))+|^(?:(?:to|cc|date|sent|subject):.*\n)*from:.*\n(?:(?:to|cc|date|sent|subject):.*\n)+[\s\S]*/gim;
/** "Translate the following:" says that what follows is a document. */
const ANNOUNCED =
  /^[^\n]*\b(?:summari[sz]e|translate|proofread|explain|rewrite|rephrase|correct|shorten|review|this|following|here is)\b[^\n]*:[ \t]*\n([\s\S]+)$/i;
const MOST_TYPED = 1500;
const LONGEST_REQUEST = 600;

/** A message apart: what a person typed, and documents that they pasted into it. */
export function splitMessage(text: string): { typed: string; pasted: string } {
  const [, announced = ''] = ANNOUNCED.exec(text.trim()) ?? [];
  const own =
    announced && !/^\s*(?:[-*•]|\d+[.)])\s/.test(announced) ? text.replace(announced, '') : text;
  const typed = own.replaceAll(PASTED, '\n');
  const pasted = [...(text.match(PASTED) ?? []), own === text ? '' : announced].join('\n').trim();
  if (typed.length <= MOST_TYPED) return { typed, pasted };
  // No user types this much to say what to do: a request stands before or after the document.
  const parts = typed.split(/\n\s*\n/);
  const ends = [parts[0] ?? '', parts.length > 1 ? (parts.at(-1) ?? '') : ''];
  const request = ends.map((one) => one.slice(0, LONGEST_REQUEST)).join('\n\n');
  return { typed: request, pasted: text };
}

/** `value` stands in `text` and is not part of a longer name, path, host or address. */
export function standsIn(text: string, value: string): boolean {
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
    const before = text.slice(Math.max(0, at - 2), at);
    const after = text.slice(at + value.length, at + value.length + 2);
    if (startsHere(before, value) && endsHere(after, value)) return true;
  }
  return false;
}

function startsHere(before: string, value: string): boolean {
  if (/^\d/.test(value) && /[:$€£,]$/.test(before)) return false;
  if (!/^[\p{L}\p{N}]/u.test(value)) return true;
  return !/[\p{L}\p{N}_.+/\\-]$/u.test(before) && !/[\p{L}\p{N}]@$/u.test(before);
}

function endsHere(after: string, value: string): boolean {
  if (/\d$/.test(value) && /^(?:[:,]\d|%)/.test(after)) return false;
  if (!/[\p{L}\p{N}/]$/u.test(value)) return true;
  return (
    !/^(?:[\p{L}\p{N}_@\\/]|[.-][\p{L}\p{N}])/u.test(after) || /^\/(?:[\s.,;:!?"')]|$)/.test(after)
  );
}

function tokensOf(plain: string): string[] {
  return plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
}

function isTelling(word: string): boolean {
  return word.length >= 3 && !EMPTY_WORDS.has(word) && !/^\d+$/.test(word);
}

function numbersIn(text: string): ReadonlySet<number> {
  const written = text.match(NUMBER)?.flatMap((one) => [one, ...one.split(/[, ]/)]) ?? [];
  const spelt = NUMBER_WORDS.flatMap((word, number) => (standsIn(text, word) ? number : []));
  return new Set([...written.map((one) => Number(one.replaceAll(/[,' ]/g, ''))), ...spelt]);
}

function compact(text: string): string {
  return text.replaceAll(/[\s()+.-]/g, '');
}

function stem(word: string): string {
  return word.replace(/(?<=..)(?:ing|ed|es|s|e)$/, '');
}
