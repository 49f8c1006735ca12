// Values of callers in a path, a query or a header. Each stays within its place: a path value is one
// segment that no server reads as another path, a query value is one pair, a header value is one line.

import type { FabricError } from '@starloom/core';
import { failure } from '../reasons.ts';

/** How often a value may be decoded on its way, by proxies and the server. */
const DECODINGS = 4;

/** One segment of a path. */
export function encodeSegment(value: unknown, name: string): string {
  const text = toText(value, name);
  if (isTraversal(text)) throw badArgument(name, 'cannot be part of a path');
  return encode(text, name);
}

/** One pair of a query, or more where the value is a list. */
export function encodePairs(name: string, value: unknown): string[] {
  const values = Array.isArray(value) ? value : [value];
  return values.map((each) => `${encode(name, name)}=${encode(toText(each, name), name)}`);
}

/** Of a header; only what is printable in ASCII. */
export function toHeaderValue(value: unknown, name: string): string {
  const text = toText(value, name);
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  throw badArgument(name, 'holds characters that a header cannot have');
}

/** A path with more pairs in its query. */
export function withPairs(path: string, pairs: readonly string[]): string {
  if (pairs.length === 0) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${pairs.join('&')}`;
}

/** Percent-encoded; texts that are not well-formed have no such form. */
export function encode(text: string, name: string): string {
  if (!text.isWellFormed()) throw badArgument(name, 'is not well-formed text');
  return encodeURIComponent(text).replace(/[!'()*]/g, toPercent);
}

export function toText(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) {
    return String(value);
  }
  throw badArgument(name, 'must be a text, a number or a boolean here');
}

export function badArgument(name: string, problem: string): FabricError {
  return failure('bad_argument', { argument: name.slice(0, 64), problem });
}

/** Whether any server along the way could read `text` as no segment, or as a way out of one. */
function isTraversal(text: string): boolean {
  let read = text;
  for (let round = 0; round < DECODINGS; round += 1) {
    if (/[\p{Cc}]/u.test(read)) return true;
    if (read.split(/[/\\]/).some(isDots)) return true;
    const decoded = read.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => {
      return String.fromCharCode(Number.parseInt(hex, 16));
    });
    if (decoded === read) return false;
    read = decoded;
  }
  return true;
}

/** Nothing, `.` or `..`, also with parameters that some servers cut off. */
function isDots(piece: string): boolean {
  const [name = ''] = piece.split(';', 1);
  return ['', '.', '..'].includes(name.trim());
}

function toPercent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
