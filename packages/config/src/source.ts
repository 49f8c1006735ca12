import { type KeyPath, toKey } from './key-path.ts';
import type { Problem } from './problem.ts';

export interface Position {
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

/** Where an entry stands: its name and its value (the same place for an entry of a list). */
export interface EntryPosition {
  readonly key: Position;
  readonly value: Position;
}

/** A file as its parser saw it. When there are problems, the value is not to be used. */
export interface Source {
  /** `undefined` when the file is empty. */
  readonly value: unknown;
  /** By key, such as `auth.psk[0].key`; the empty key is the whole document. */
  readonly positions: ReadonlyMap<string, EntryPosition>;
  readonly problems: readonly Problem[];
}

/** Keys that would reach into the prototype of an object. */
export const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/** What a parser notes of a file while it reads it. Values never appear in a message. */
export class SourceNotes implements Omit<Source, 'value'> {
  readonly positions = new Map<string, EntryPosition>();
  readonly problems: Problem[] = [];
  readonly #file: string;
  readonly #lineStarts: number[] = [0];

  constructor(text: string, file: string) {
    this.#file = file;
    for (const { index } of text.matchAll(/\n/g)) this.#lineStarts.push(index + 1);
  }

  at(offset: number): Position {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#lineStarts[low] ?? 0) + 1 };
  }

  /** Where an entry stands; the first place counts. */
  place(path: KeyPath, key: Position, value: Position = key): void {
    const name = toKey(path);
    if (!this.positions.has(name)) this.positions.set(name, { key, value });
  }

  refuse(path: KeyPath, place: Position | undefined, message: string, fix: string): undefined {
    this.problems.push({ file: this.#file, ...place, key: toKey(path), message, fix });
  }

  /** False for a name that would reach into the prototype of an object. */
  allows(path: KeyPath, place: Position | undefined): boolean {
    if (!FORBIDDEN_KEYS.has(String(path.at(-1)))) return true;
    this.refuse(path, place, 'this key is not allowed', 'rename or remove it');
    return false;
  }

  refuseSecond(path: KeyPath, place: Position): void {
    const first = this.positions.get(toKey(path))?.key.line;
    this.refuse(path, place, `given twice; first in line ${first}`, 'keep one of them');
  }
}
