// How deep and how wide a JSON text is, known before it is parsed. Parsing costs by the value, and a
// few megabytes can hold a million of them; counting only looks at what is outside of strings.
// Nothing is said on whether the text is JSON: that is for the parser, within these limits.

import { FabricError } from '@starloom/core';

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
export function jsonExcess(text: string, { depth, nodes }: JsonLimits): JsonExcess | undefined {
  if (text.length < UNCOUNTED_LENGTH) return undefined;
  let level = 0;
  let count = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === COMMA) {
      count += 1;
      if (count > nodes) return 'too_many_values';
    } else if (code >= OPEN_ARRAY) {
      if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
        level += 1;
        if (level > depth + 1) return 'too_deep';
        if (!isClosing(text.charCodeAt(at + 1))) count += 1;
      } else if (isClosing(code)) {
        level -= 1;
      }
    }
  }
  return count > nodes ? 'too_many_values' : undefined;
}

/** UPSTREAM_ERROR for a text of an agent that exceeds the limits. */
export function assertJsonLimits(text: string, limits: JsonLimits = UPSTREAM_JSON_LIMITS): void {
  const reason = jsonExcess(text, limits);
  if (!reason) return;
  const [what, limit] =
    reason === 'too_deep'
      ? ['is nested too deep', limits.depth]
      : ['has too many values', limits.nodes];
  throw new FabricError('UPSTREAM_ERROR', `The JSON that the agent sent ${what}`, {
    details: { reason, limit, fix: 'let the agent send less in one message, or send it as text' },
  });
}

/** Where the string that begins at `start` ends; the end of the text when it does not. */
export function endOfString(text: string, start: number): number {
  let at = start;
  do {
    at = text.indexOf('"', at + 1);
    if (at === -1) return text.length;
  } while (isEscaped(text, at));
  return at;
}

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

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 0;
}
