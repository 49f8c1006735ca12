// What may stand in a log line. Values under the name of a credential are replaced at any depth,
// and credentials inside texts where their form gives them away. The result is a bounded copy: no
// cycles, no endless texts, nothing that a getter of the original could still change.

import { FabricError, type LogFields } from '@starloom/core';
import { clip } from './log-lines.ts';

export const REDACTED = '[redacted]';

const MAX_DEPTH = 8;
const MAX_VALUES = 500;
const MAX_TEXT = 4096;
const MAX_KNOWN_NAMES = 2000;

/** The last word of a name decides: `client_secret`, `accessToken` and `X-Api-Key` are all meant. */
const SECRET_WORDS = new Set([
  'authorization',
  'bearer',
  'cookie',
  'cookies',
  'credential',
  'credentials',
  'jwt',
  'key',
  'apikey',
  'mandate',
  'passphrase',
  'passport',
  'passwd',
  'password',
  'passwords',
  'psk',
  'secret',
  'secrets',
  'token',
]);

const SECRET_TEXTS: readonly [pattern: RegExp, replacement: string][] = [
  [/\b(bearer)([ .])[\w.~+/=-]{8,}/gi, `$1$2${REDACTED}`],
  [/\b([Bb]asic) (?=[a-z]*[A-Z0-9+/=])[\w+/=]{4,}/g, `$1 ${REDACTED}`],
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, REDACTED],
  [/:\/\/[^/\s:@]*:[^/\s@]+@/g, `://${REDACTED}@`],
  [
    /((?:password|passwd|secret|token|api[_-]?key|authorization|cookie|passport|mandate)["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"'&,;}[]+/gi,
    `$1${REDACTED}`,
  ],
];

/** A copy of `fields` that is safe to write. Never throws. */
export function redactFields(fields: LogFields): Record<string, unknown> {
  return orUnreadable(() => new Redaction().record(fields, 0));
}

/** What the log says of an error; stacks are for bugs only. Never throws. */
export function toErrorFields(error: Error): Record<string, unknown> {
  return orUnreadable(() => new Redaction().error(error, 0));
}

/** The text without the credentials that have a known form, and of bounded length. */
export function redactText(text: string): string {
  let safe = clip(text, MAX_TEXT);
  for (const [pattern, replacement] of SECRET_TEXTS) safe = safe.replace(pattern, replacement);
  return safe;
}

class Redaction {
  #valuesLeft = MAX_VALUES;

  record(fields: object, depth: number): Record<string, unknown> {
    const copy: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(fields)) {
      if (this.#valuesLeft-- <= 0) break;
      if (name === '__proto__') continue;
      copy[name] = isSecretName(name) && value != null ? REDACTED : this.#value(value, depth + 1);
    }
    return copy;
  }

  #value(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case 'string':
        return redactText(value);
      case 'bigint':
        return String(value);
      case 'object':
        return value === null ? null : this.#object(value, depth);
      case 'function':
      case 'symbol':
        return undefined;
      default:
        return value;
    }
  }

  #object(value: object, depth: number): unknown {
    if (depth > MAX_DEPTH) return '[deep]';
    if (value instanceof Error) return this.error(value, depth);
    if (Array.isArray(value)) return this.#list(value, depth);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Map) return this.record(Object.fromEntries(value), depth);
    if (value instanceof Set) return this.#list([...value], depth);
    if ('toJSON' in value && typeof value.toJSON === 'function') {
      return this.#value(value.toJSON(), depth + 1);
    }
    return this.record(value, depth);
  }

  /** In a flat list of headers the value follows its name. */
  #list(values: readonly unknown[], depth: number): unknown[] {
    const copy: unknown[] = [];
    for (const [index, value] of values.entries()) {
      if (this.#valuesLeft-- <= 0) break;
      const name = values[index - 1];
      const isSecret = typeof name === 'string' && isSecretName(name);
      copy.push(isSecret ? REDACTED : this.#value(value, depth + 1));
    }
    return copy;
  }

  error(error: Error, depth: number): Record<string, unknown> {
    const message = redactText(error.message);
    const isBug = !FabricError.is(error) || error.code === 'INTERNAL';
    const fields: Record<string, unknown> = FabricError.is(error)
      ? { code: error.code, message, details: this.record(error.details, depth + 1) }
      : { name: error.name, code: codeOf(error), message };
    if (isBug && error.stack !== undefined) fields.stack = redactText(error.stack);
    if (error.cause === undefined) return fields;
    fields.cause = isBug ? this.#value(error.cause, depth + 1) : briefly(error.cause);
    return fields;
  }
}

/** A getter or a proxy may throw; the line is written all the same. */
function orUnreadable(read: () => Record<string, unknown>): Record<string, unknown> {
  try {
    return read();
  } catch {
    return { unreadable: true };
  }
}

function briefly(cause: unknown): unknown {
  if (!(cause instanceof Error)) return undefined;
  return { name: cause.name, code: codeOf(cause), message: redactText(cause.message) };
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

const knownNames = new Map<string, boolean>();

function isSecretName(name: string): boolean {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  const isSecret = SECRET_WORDS.has(lastWord(name));
  if (knownNames.size >= MAX_KNOWN_NAMES) knownNames.clear();
  if (name.length <= 64) knownNames.set(name, isSecret);
  return isSecret;
}

function lastWord(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[^A-Za-z0-9]+/);
  return words.findLast((word) => word !== '')?.toLowerCase() ?? '';
}
