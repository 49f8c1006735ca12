import { stripVTControlCharacters } from 'node:util';

/** What an agent wrote, for lists that others read: clean and at most `length` characters. */
export function cleanText(text: unknown, length: number): string | undefined {
  if (typeof text !== 'string') return undefined;
  const clean = withoutInvisible(text.slice(0, 2 * length)).trim();
  return clean.length <= length ? clean : `${clean.slice(0, length - 1)}…`.toWellFormed();
}

/** Without escape sequences, control, bidirectional and invisible characters. */
export function withoutInvisible(text: string): string {
  return stripVTControlCharacters(text).replace(/[^\P{C}\n\t]/gu, '');
}
