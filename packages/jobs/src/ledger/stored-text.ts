// How calls, events and results are stored: as the text itself, or as the name of a file that holds it.
// The name begins with a character that no JSON begins with, and ends with the size of the file.

export const FILE_MARK = '\u0001file:';
/** In place of a call that is not kept. */
export const NO_CALL = 'null';

/** So small a call of a cancelled job stays, for a retry. */
export const SMALL_CALL_BYTES = 4 * 1024;

const utf8 = new TextEncoder();

/** What a text takes, wherever it is. */
export function storedBytes(stored: string): number {
  if (!stored.startsWith(FILE_MARK)) return utf8.encode(stored).length;
  return Number(/#(\d+)$/.exec(stored)?.[1] ?? 0);
}
