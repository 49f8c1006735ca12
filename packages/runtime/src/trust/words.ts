// Whether a text names a value: exactly, on normalised forms. Case, Unicode form and white space do
// not count; a value must stand on its own, so `example.com` does not name `evil-example.com`, nor
// `report` `report.exe`.

const NUMBER = /\d[\d,' ]*(?:\.\d+)?/g;
const NUMBER_WORDS = (
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen ' +
  'sixteen seventeen eighteen nineteen twenty'
).split(' ');
/** Words of every request: as a value they name nothing. */
const EMPTY_WORDS = new Set(
  (
    'a an and are as at be by do for from has have i if in is it its me my no not of on or our out she so that the their ' +
    'them then there they this to up us was we were what when which who will with you your all any new please file files ' +
    'user users name id none null true false'
  ).split(' '),
);

export class Words {
  /** As it was written. */
  readonly text: string;
  readonly #plain: string;
  #compact: string | undefined;
  #sequence: string | undefined;
  #numbers: ReadonlySet<number> | undefined;
  #set: ReadonlySet<string> | undefined;

  constructor(text: string) {
    this.text = text;
    const apart = text.replaceAll(/(\p{Ll}[.!?])(\p{Lu}\p{Ll})/gu, '$1 $2');
    this.#plain = normalise(apart === text ? text : `${text} ${apart}`);
  }

  has(value: string): boolean {
    const wanted = normalise(value);
    if (wanted === '' || EMPTY_WORDS.has(wanted)) return false;
    return standsIn(this.#plain, wanted) || this.#hasCode(wanted);
  }

  /** A number of a few digits names something only beside a word for it: `file 13`, `#13`, `"13"`. */
  hasShortNumber(value: string, nouns: readonly string[]): boolean {
    const before = `(?:#|"|'|\\b(?:${[...nouns, 'id', 'number', 'nr', 'no'].join('|')})s?[.:]?\\s*#?["']?)`;
    return new RegExp(`${before}${value}(?![\\d:,.%]\\d|\\d)`, 'u').test(this.#plain);
  }

  /** Two words of the value that the user wrote side by side: `grocery list` of `grocery-list.docx`. */
  hasPair(value: string): boolean {
    if (/@|:\/\//.test(value)) return false;
    this.#sequence ??= ` ${tokensOf(this.#plain).join(' ')} `;
    const parts = tokensOf(normalise(value));
    return parts.slice(1).some((word, index) => {
      const first = parts[index] ?? '';
      return isTelling(first) && isTelling(word) && this.#sequence?.includes(` ${first} ${word} `);
    });
  }

  hasNumber(value: number): boolean {
    this.#numbers ??= numbersIn(this.#plain);
    return this.#numbers.has(value);
  }

  /** The word, in the form it has or as its plural, past or `-ing` form. */
  hasForm(word: string): boolean {
    this.#set ??= new Set(tokensOf(this.#plain).map(stem));
    return this.#set.has(stem(word));
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
  return text.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ').trim();
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
  return word.replace(/(?:ing|ed|es|s|e)$/, '');
}
