// Text of agents, tools and servers is not ours. Escape sequences could move the cursor, forge a
// prompt or rename the window, and bidi controls could reorder what a person reads.

/** Whole escape sequences first, so that no remains of them are shown; then single characters. */
const ACTS_ON_TERMINAL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be shown
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The text without anything that a terminal would act on; line breaks and tabs stay. */
export function toPlainText(text: string): string {
  return text.replace(ACTS_ON_TERMINAL, '');
}

/** One line of at most `width` characters. */
export function toOneLine(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = toPlainText(text).replace(/\s+/g, ' ').trim();
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

/** Characters that are not seen, or that change how others are seen, by their number. */
export function toVisible(text: string): string {
  return text.replaceAll(/[\p{C}\p{DI}\u2028\u2029]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** One line of ours with values of others, none of which can end it or hide a part of it. */
export function line(texts: TemplateStringsArray, ...values: readonly unknown[]): string {
  return String.raw({ raw: texts }, ...values.map((value) => toVisible(String(value))));
}

/** JSON.stringify leaves these as they are. */
const UNSAFE_IN_JSON = /[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef]/g;

/** JSON on one line in which such characters are escaped: safe to show, and nothing is lost. */
export function toSafeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? 'null';
  return text.replace(UNSAFE_IN_JSON, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
