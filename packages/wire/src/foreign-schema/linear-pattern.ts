// Regular expressions of foreign schemas, matched in time linear in the text. Simple ones, as nearly
// all are, run on the engine of the platform; the rest run on RE2, which cannot do lookaround and
// back references. Such a pattern is left to the agent, which wrote it and judges by it as well:
// to refuse the schema would make tools unusable that work today.

import { RE2JS } from 're2js';
import { SchemaProblem } from './schema-fields.ts';

export interface LinearPattern {
  test(text: string): boolean;
  /** Units of work for one character. */
  readonly cost: number;
  /** Of the compiled form. */
  readonly size: number;
}

const MAX_LENGTH = 1_024;
const MAX_PLAIN_SIZE = 512;
const MAX_PLAIN_WAYS = 512;

/** `undefined` for a pattern that takes more than linear time; throws for one that is none. */
export function toLinearPattern(source: string): LinearPattern | undefined {
  if (source.length > MAX_LENGTH) throw new SchemaProblem('a pattern is too long');
  const ecma = toEcma(source);
  if (ecma && isPlain(source)) {
    return { test: (text) => ecma.test(text), cost: 1 / 16, size: source.length };
  }
  try {
    const pattern = RE2JS.compile(RE2JS.translateRegExp(source));
    const size = pattern.programSize();
    return { test: (text) => pattern.test(text), cost: 1 / 8 + size / 64, size };
  } catch (cause) {
    if (ecma) return undefined;
    throw new SchemaProblem('a pattern is no regular expression', { cause });
  }
}

/** Upper bound of the compiled size, known before anything is compiled: counts multiply. */
export function expandedSize(source: string): number {
  const groups = [0];
  let last = 0;
  for (let at = 0; at < source.length; at += 1) {
    const character = source[at];
    if (character === '(') {
      groups.push(0);
      last = 0;
    } else if (character === ')' && groups.length > 1) {
      last = (groups.pop() ?? 0) + 1;
      groups.push((groups.pop() ?? 0) + last);
    } else if (character === '{') {
      const [text = '', least = '1', most = least] = COUNT.exec(source.slice(at, at + 16)) ?? [];
      const more = last * (Math.max(Number(least), Number(most || least), 1) - 1);
      groups.push((groups.pop() ?? 0) + more);
      last += more;
      at += Math.max(text.length - 1, 0);
    } else {
      if (character === '\\') at += 1;
      last = 1;
      groups.push((groups.pop() ?? 0) + 1);
    }
  }
  return groups.reduce((sum, size) => sum + size, 0);
}

const COUNT = /^\{(\d{1,5})(?:,(\d{0,5}))?\}/;

function toEcma(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'u');
  } catch {
    return undefined;
  }
}

const ATOM = String.raw`(?:[^\\[\](){}|*+?.^$]|\.|\\[dDwWsS.\\/$^+*?()[\]{}|]|\\[pP]\{[\w=]+\}|\[(?:[^\\[\]]|\\.)+\])`;
const COUNTED = String.raw`(?:\?|\{\d{1,3}(?:,\d{1,3})?\})?`;
const PLAIN = new RegExp(`^\\^(?:${ATOM}${COUNTED})*(?:${ATOM}[*+])?(?:${ATOM}${COUNTED})*\\$?$`);
const VARIABLE = /\?|\{(\d+),(\d+)\}/g;

/**
 * Anchored, without groups, with one open count and few others that vary: a failed match tries each
 * length a few times. Characters of a class are taken for counts as well, which errs on the safe side.
 */
function isPlain(source: string): boolean {
  if (!PLAIN.test(source) || expandedSize(source) > MAX_PLAIN_SIZE) return false;
  let ways = 1;
  for (const [, least = 0, most = 1] of source.matchAll(VARIABLE)) {
    ways *= Math.max(1, Number(most) - Number(least) + 1);
  }
  return ways <= MAX_PLAIN_WAYS;
}
