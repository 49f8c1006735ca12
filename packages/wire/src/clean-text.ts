import { stripVTControlCharacters } from 'node:util';

/** What an agent wrote, for lists that others read: clean and at most `length` characters. */
export function cleanText(text: unknown, length: number): string | undefined {
  if (typeof text !== 'string') return undefined;
  const clean = withoutInvisible(text.slice(0, 2 * length)).trim();
  return clean.length <= length ? clean : `${clean.slice(0, length - 1)}…`.toWellFormed();
}

/** Without escape sequences, control, bidirectional and invisible characters, variation selectors too. */
export function withoutInvisible(text: string): string {
  return stripVTControlCharacters(text).replace(/[^\P{C}\n\t]|\p{DI}/gu, '');
}

/** Whether it has characters that are not seen, but read by a model; line breaks are none of them. */
export function hasHidden(text: string): boolean {
  return stripVTControlCharacters(text) !== text || /[^\P{C}\p{Cc}]|\p{DI}/u.test(text);
}
