import type { Position } from './source.ts';

/** Offsets of a text as lines and columns. */
export class TextLines {
  readonly #starts: number[] = [0];

  constructor(text: string) {
    for (const { index } of text.matchAll(/\n/g)) this.#starts.push(index + 1);
  }

  at(offset: number): Position {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }
}
