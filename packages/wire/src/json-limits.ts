// How deep and how wide a JSON text is, known before it is parsed. Parsing costs by the value, and a
// few megabytes can hold a million of them; counting only looks at what is outside of strings.
// Nothing is said on whether the text is JSON: that is for the parser, within these limits.

import type { FabricError } from '@starloom/core';
import { failure } from './reasons.ts';

export interface JsonLimits {
  /** Of values below the outermost one. */
  readonly depth: number;
  /** Values of any kind. */
  readonly nodes: number;
}

export type JsonExcess = 'too_deep' | 'too_many_values';

/** What an agent may send in one message: large texts and tables pass. */
export const UPSTREAM_JSON_LIMITS: JsonLimits = { depth: 144, nodes: 250_000 };

/** Shorter texts cannot hold enough to matter, and are not looked at. */
const UNCOUNTED_LENGTH = 8_192;

/** Which limit the text exceeds, if any. */
export function jsonExcess(text: string, limits: JsonLimits): JsonExcess | undefined {
  if (text.length < UNCOUNTED_LENGTH) return undefined;
  return new JsonCount(limits).add(text);
}

/** Counts a text that comes in parts. */
export class JsonCount {
  readonly #limits: JsonLimits;
  #level = 0;
  #nodes = 1;
  /** The last part ended inside of a string, before a character that a backslash escapes, or after `[`. */
  #isInString = false;
  #isEscaped = false;
  #isOpened = false;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** Which limit is exceeded with this part, if any. */
  add(part: string): JsonExcess | undefined {
    const { depth, nodes } = this.#limits;
    if (part === '') return undefined;
    if (this.#isOpened && !isClosing(part.charCodeAt(0))) this.#nodes += 1;
    this.#isOpened = false;
    let level = this.#level;
    let count = this.#nodes;
    for (let at = this.#isInString ? this.#restOfString(part) : 0; at < part.length; at += 1) {
      const code = part.charCodeAt(at);
      if (code === QUOTE) {
        const end = endOfString(part, at);
        if (end === part.length) this.#noteOpenString(part, at + 1);
        at = end;
      } else if (code === COMMA) {
        count += 1;
        if (count > nodes) return 'too_many_values';
      } else if (code >= OPEN_ARRAY) {
        if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
          level += 1;
          if (level > depth + 1) return 'too_deep';
          if (at + 1 === part.length) this.#isOpened = true;
          else if (!isClosing(part.charCodeAt(at + 1))) count += 1;
        } else if (isClosing(code)) {
          level -= 1;
        }
      }
    }
    this.#level = level;
    this.#nodes = count;
    return count > nodes ? 'too_many_values' : undefined;
  }

  /** Where what follows a string that an earlier part began is. */
  #restOfString(part: string): number {
    const from = this.#isEscaped ? 1 : 0;
    const end = endOfString(part, from - 1, from);
    this.#isInString = false;
    if (end === part.length) this.#noteOpenString(part, from);
    return end + 1;
  }

  #noteOpenString(part: string, from: number): void {
    this.#isInString = true;
    this.#isEscaped = isEscaped(part, part.length, from);
  }
}

/** UPSTREAM_ERROR for a text of an agent that exceeds the limits. */
export function assertJsonLimits(text: string, limits: JsonLimits = UPSTREAM_JSON_LIMITS): void {
  const reason = jsonExcess(text, limits);
  if (reason) throw jsonFailure(reason, limits);
}

/** UPSTREAM_ERROR for what an agent sent. */
export function jsonFailure(
  reason: JsonExcess,
  limits: JsonLimits = UPSTREAM_JSON_LIMITS,
): FabricError {
  return failure(reason, { limit: reason === 'too_deep' ? limits.depth : limits.nodes });
}

/**
 * Where the string that begins at `start` ends; the end of the text when it does not. A backslash before
 * `from` escapes nothing.
 */
export function endOfString(text: string, start: number, from = start + 1): number {
  const near = Math.min(from + SHORT_STRING, text.length);
  let at = from;
  for (; at < near; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  do {
    at = text.indexOf('"', at);
    if (at === -1) return text.length;
    at += 1;
  } while (isEscaped(text, at - 1, from));
  return at - 1;
}

/** To look at each character of a short one is faster than to search. */
const SHORT_STRING = 24;

/**
 * How many members the objects of a JSON text have: strings that a colon follows. Of a key that
 * stands twice the parser keeps the last, and a proxy before us may have read the first.
 */
export function membersIn(text: string): number {
  let members = 0;
  for (let at = text.indexOf('"'); at !== -1; ) {
    let after = endOfString(text, at) + 1;
    while (text.charCodeAt(after) <= SPACE) after += 1;
    if (text[after] === ':') members += 1;
    at = text.indexOf('"', after);
  }
  return members;
}

/** No character of JSON between values is greater. */
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function isClosing(code: number): boolean {
  return code === CLOSE_ARRAY || code === CLOSE_OBJECT;
}

function isEscaped(text: string, at: number, from: number): boolean {
  let before = at - 1;
  while (before >= from && text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 0;
}
