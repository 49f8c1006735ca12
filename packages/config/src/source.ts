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
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set([
  '__proto__',
  'constructor',
  'prototype',
]);
