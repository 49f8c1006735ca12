import { type BadLine, LineSplitter } from './line-splitter.ts';

export interface ReadLinesOptions {
  /** Longest line in bytes, without its line end. */
  readonly maxLineBytes: number;
  /**
   * Called in turn for a line over the limit (as soon as that is known) or not in UTF-8: it is
   * skipped, in bounded memory, and reading goes on. Without it reading fails there.
   */
  readonly onBadLine?: (why: BadLine) => void;
}

/**
 * The lines of `source`, split at \n; a \r before it is dropped, a last line needs no line end.
 * Fails with UPSTREAM_ERROR on a line over the limit (as soon as that is known) and on bytes that
 * are not UTF-8; errors of the source pass through. The source is closed when the consumer stops;
 * one that waits for bytes is freed by destroying the source.
 */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  { maxLineBytes, onBadLine }: ReadLinesOptions,
): AsyncGenerator<string, void, undefined> {
  const splitter = new LineSplitter({ unit: 'line', limit: maxLineBytes, onBadLine });
  for await (const chunk of source) {
    for (const line of splitter.push(chunk)) yield line;
  }
  for (const line of splitter.end()) yield line;
}
