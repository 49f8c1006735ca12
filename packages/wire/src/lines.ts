// Bytes in, lines of strict UTF-8 out, however the bytes are cut. Whole chunks are decoded at once:
// a line end never lies inside a code point, so everything up to the last one is complete text and
// only the tail is held. What is held never exceeds the limit, which is checked before copying. A
// line that is refused ends the reading, unless the caller sets `onBadLine`: then it is skipped.

import { isUtf8 } from 'node:buffer';
import { failure } from './reasons.ts';
import { utf8Text } from './utf8-text.ts';

interface LineSplitterOptions {
  /** `line`: \n ends a line, the limit is per line. `event`: \n, \r and \r\n do, and the limit
   * counts all lines up to a blank one. */
  readonly unit: 'line' | 'event';
  /** In bytes, line ends not counted. */
  readonly limit: number;
  /** Of `line`: hears of each that is skipped; without it such a line is an error. */
  readonly onBadLine?: ((why: BadLine) => void) | undefined;
}

export type BadLine = 'line_too_long' | 'invalid_utf8';

const LF = 10;
const CR = 13;
const KEPT_CAPACITY = 65_536;

export class LineSplitter {
  readonly #unit: 'line' | 'event';
  readonly #limit: number;
  readonly #onBadLine: LineSplitterOptions['onBadLine'];
  #held = Buffer.allocUnsafe(0);
  #heldLength = 0;
  /** Bytes of the unfinished event's earlier lines; always 0 for `line`. */
  #spent = 0;
  #afterCarriageReturn = false;
  /** Up to the next line end: the line was refused. */
  #skips = false;

  constructor(options: LineSplitterOptions) {
    this.#unit = options.unit;
    this.#limit = options.limit;
    this.#onBadLine = options.onBadLine;
  }

  /** The lines that `chunk` completes. Exhaust it before the next call; it may throw mid-way. */
  *push(chunk: Uint8Array): Generator<string, void, undefined> {
    let bytes = this.#unskipped(toBuffer(chunk));
    if (bytes.length === 0) return;
    if (this.#afterCarriageReturn && bytes[0] === LF) bytes = bytes.subarray(1);
    this.#afterCarriageReturn = this.#unit === 'event' && bytes.at(-1) === CR;
    const end = this.#lastLineEnd(bytes) + 1;
    if (end > 0) yield* this.#lines(this.#complete(bytes.subarray(0, end)));
    this.#hold(bytes.subarray(end));
  }

  /** The last line, when no line end follows it. */
  *end(): Generator<string, void, undefined> {
    if (this.#heldLength > 0) yield* this.#lines(this.#complete(Buffer.of(LF)));
  }

  *#lines(bytes: Buffer): Generator<string, void, undefined> {
    const valid = isUtf8(bytes);
    const text = valid ? utf8Text(bytes) : bytes.toString('latin1');
    const oneByteEach = text.length === bytes.length;
    let start = 0;
    let lineFeed = text.indexOf('\n');
    let carriageReturn = this.#unit === 'event' ? text.indexOf('\r') : -1;
    while (start < text.length) {
      const byCarriageReturn =
        carriageReturn !== -1 && (lineFeed === -1 || carriageReturn < lineFeed);
      const end = byCarriageReturn ? carriageReturn : lineFeed;
      const line = text.slice(start, this.#unit === 'line' ? trimmedEnd(text, start, end) : end);
      if (this.#count(oneByteEach ? line.length : Buffer.byteLength(line))) {
        const decoded = valid ? line : this.#decode(Buffer.from(line, 'latin1'));
        if (decoded !== undefined) yield decoded;
      }
      if (this.#unit === 'line' || line === '') this.#spent = 0;

      start = end + 1;
      if (byCarriageReturn && start === lineFeed) start += 1;
      if (lineFeed !== -1 && lineFeed < start) lineFeed = text.indexOf('\n', start);
      if (carriageReturn !== -1 && carriageReturn < start) {
        carriageReturn = text.indexOf('\r', start);
      }
    }
  }

  /** What was held together with its continuation; nothing is held afterwards. */
  #complete(rest: Buffer): Buffer {
    if (this.#heldLength === 0) return rest;
    this.#append(rest);
    const bytes = this.#held.subarray(0, this.#heldLength);
    this.#heldLength = 0;
    if (this.#held.length > KEPT_CAPACITY) this.#held = Buffer.allocUnsafe(0);
    return bytes;
  }

  #hold(tail: Buffer): void {
    if (tail.length === 0) return;
    const mayBeLineEnd = this.#unit === 'line' && tail.at(-1) === CR ? 1 : 0;
    const length = this.#spent + this.#heldLength + tail.length - mayBeLineEnd;
    if (this.#fits(length)) this.#append(tail);
    else this.#skip();
  }

  #skip(): void {
    this.#skips = true;
    this.#heldLength = 0;
    this.#held = Buffer.allocUnsafe(0);
  }

  /** What follows the line that is being skipped. */
  #unskipped(bytes: Buffer): Buffer {
    if (!this.#skips) return bytes;
    const lineFeed = bytes.indexOf(LF);
    if (lineFeed === -1) return bytes.subarray(bytes.length);
    this.#skips = false;
    return bytes.subarray(lineFeed + 1);
  }

  #append(bytes: Buffer): void {
    const needed = this.#heldLength + bytes.length;
    if (needed > this.#held.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#heldLength, 256));
      this.#held.copy(grown, 0, 0, this.#heldLength);
      this.#held = grown;
    }
    bytes.copy(this.#held, this.#heldLength);
    this.#heldLength = needed;
  }

  #count(bytes: number): boolean {
    this.#spent += bytes;
    return this.#fits(this.#spent);
  }

  #fits(bytes: number): boolean {
    if (bytes <= this.#limit) return true;
    if (this.#unit === 'event') throw failure('event_too_large', { limit: this.#limit });
    if (!this.#onBadLine) throw failure('line_too_long', { limit: this.#limit });
    this.#onBadLine('line_too_long');
    return false;
  }

  #decode(bytes: Buffer): string | undefined {
    if (isUtf8(bytes)) return utf8Text(bytes);
    if (!this.#onBadLine) throw failure('invalid_utf8');
    this.#onBadLine('invalid_utf8');
    return undefined;
  }

  #lastLineEnd(bytes: Buffer): number {
    const lineFeed = bytes.lastIndexOf(LF);
    if (this.#unit === 'line' || lineFeed === bytes.length - 1) return lineFeed;
    return Math.max(lineFeed, bytes.lastIndexOf(CR));
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function trimmedEnd(text: string, start: number, end: number): number {
  return end > start && text.charCodeAt(end - 1) === CR ? end - 1 : end;
}

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
