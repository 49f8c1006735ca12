// Words as arguments of a tool: `--key value`, `--key=value`, `key=value`, `--flag`, `--no-flag`, and
// what has no name goes to the parameters not yet named, in the order of the schema.

import { closestWord, isObject } from '@starloom/core';
import type { ITool, JsonSchema } from '@starloom/sdk';

export type ParsedArguments =
  | { readonly args: Readonly<Record<string, unknown>> }
  | { readonly problem: string };

export function toArguments(tool: ITool, words: readonly Word[]): ParsedArguments {
  const reader = new ArgumentReader(tool);
  return reader.read(words);
}

export function propertiesOf({ parameters }: ITool): Readonly<Record<string, JsonSchema>> {
  const { properties } = parameters;
  return isObject(properties) ? (properties as Record<string, JsonSchema>) : {};
}

/** Every JSON type that the schema takes; empty when it says nothing. */
export function typesOf(schema: JsonSchema): ReadonlySet<string> {
  const { type, anyOf, oneOf, enum: values } = schema;
  const own = [type ?? []].flat().filter((name) => typeof name === 'string');
  const inner = [anyOf ?? [], oneOf ?? []].flat().filter(isObject);
  const listed = Array.isArray(values) ? values.map((value) => typeof value) : [];
  return new Set([...own, ...inner.flatMap((one) => [...typesOf(one)]), ...listed]);
}

class ArgumentReader {
  readonly #properties: Readonly<Record<string, JsonSchema>>;
  readonly #args: Record<string, unknown> = {};
  readonly #unnamed: string[] = [];

  constructor(tool: ITool) {
    this.#properties = propertiesOf(tool);
  }

  read(words: readonly Word[]): ParsedArguments {
    for (let rest = words; rest.length > 0; ) {
      const [word, ...others] = rest;
      if (word === undefined) break;
      if (word.text === '--' && word.plain === 2) {
        this.#unnamed.push(...others.map(({ text }) => text));
        break;
      }
      const taken = this.#take(word, others[0]);
      if (typeof taken === 'string') return { problem: taken };
      rest = rest.slice(taken);
    }
    const problem = this.#place();
    return problem === undefined ? { args: this.#args } : { problem };
  }

  /** How many words were taken, or what is wrong. */
  #take(word: Word, next: Word | undefined): 1 | 2 | string {
    const equals = word.text.slice(0, word.plain).indexOf('=');
    const isOption = word.text.startsWith('--') && word.plain > 2;
    const name = word.text.slice(isOption ? 2 : 0, equals === -1 ? undefined : equals);
    const value = equals === -1 ? undefined : word.text.slice(equals + 1);
    if (!isOption) {
      if (value === undefined || !Object.hasOwn(this.#properties, name)) {
        this.#unnamed.push(word.text);
        return 1;
      }
      return this.#set(name, value) ?? 1;
    }
    const key = this.#keyOf(name);
    if (key === undefined) return this.#takeNegated(name, value);
    if (value !== undefined) return this.#set(key, value) ?? 1;
    if (this.#isFlag(key)) return this.#set(key, 'true') ?? 1;
    if (next === undefined) return `--${name} needs a value`;
    return this.#set(key, next.text) ?? 2;
  }

  #takeNegated(name: string, value: string | undefined): 1 | string {
    const key = name.startsWith('no-') ? this.#keyOf(name.slice(3)) : undefined;
    if (key !== undefined && this.#isFlag(key) && value === undefined) {
      return this.#set(key, 'false') ?? 1;
    }
    const near = closestWord(name, Object.keys(this.#properties));
    return `there is no --${name}${near === undefined ? '' : `; did you mean --${near}?`}`;
  }

  /** `--dry-run` names `dry_run` and `dryRun`, too. */
  #keyOf(name: string): string | undefined {
    if (Object.hasOwn(this.#properties, name)) return name;
    return Object.keys(this.#properties).find((key) => fold(key) === fold(name));
  }

  #isFlag(key: string): boolean {
    const types = typesOf(this.#properties[key] ?? {});
    return types.has('boolean') && !types.has('string');
  }

  /** What is wrong with giving this, if anything. */
  #set(key: string, text: string): string | undefined {
    const schema = this.#properties[key] ?? {};
    const value = toValue(text, schema);
    const before = this.#args[key];
    if (before === undefined) this.#args[key] = value;
    else if (!Array.isArray(before)) return `${key} is given twice`;
    else this.#args[key] = before.concat(value);
    return undefined;
  }

  #place(): string | undefined {
    const free = Object.keys(this.#properties).filter((key) => !Object.hasOwn(this.#args, key));
    for (const text of this.#unnamed) {
      const [key] = free;
      if (key === undefined)
        return `${JSON.stringify(text)} is one argument too many; quote text that has blanks`;
      this.#set(key, text);
      if (!Array.isArray(this.#args[key])) free.shift();
    }
    return undefined;
  }
}

const WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false,
};

/** The text as the schema wants it; as it is where that does not work, for the schema to refuse. */
function toValue(text: string, schema: JsonSchema): unknown {
  const types = typesOf(schema);
  if (types.size === 0 || types.has('string')) return text;
  if (types.has('boolean') && Object.hasOwn(WORDS, text)) return WORDS[text];
  if (types.has('array')) return toArray(text, schema);
  return parseJson(text, text);
}

function toArray(text: string, { items }: JsonSchema): unknown[] {
  const parsed = text.startsWith('[') ? parseJson(text, undefined) : undefined;
  if (Array.isArray(parsed)) return parsed;
  return [toValue(text, isObject(items) ? items : {})];
}

function parseJson(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}

interface Word {
  readonly text: string;
  /** How many characters from the left stood outside of quotes: only there is syntax. */
  readonly plain: number;
}

const WHITE = /\s/;
const KEY_BEFORE_QUOTE = /^(?:--)?[^\s"'=]+=$/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', '"': '"', '\\': '\\' };

/**
 * The words of a typed line, or `undefined` when a quote is not closed. Blanks separate words; a quote at
 * the beginning of a word, or behind `key=`, holds them together. Double quotes know \" \\ \n and \t, single
 * quotes no escapes. Outside of quotes a backslash escapes only a blank, a quote or itself, so that paths
 * of Windows need no doubling.
 */
export function splitWords(line: string): Word[] | undefined {
  const words: Word[] = [];
  let at = 0;
  for (;;) {
    while (at < line.length && WHITE.test(line.charAt(at))) at += 1;
    if (at >= line.length) return words;
    const word = readWord(line, at);
    if (word === undefined) return undefined;
    words.push({ text: word.text, plain: word.plain });
    at = word.end;
  }
}

/** The text as one word that reads back as itself, and as nothing but text. */
export function quoteWord(text: string): string {
  if (/^[^\s"'\\=-][^\s"'\\=]*$/.test(text)) return text;
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

interface ReadWord extends Word {
  readonly end: number;
}

function readWord(line: string, start: number): ReadWord | undefined {
  let text = '';
  let at = start;
  while (at < line.length && !WHITE.test(line.charAt(at))) {
    const character = line.charAt(at);
    const opens = (character === '"' || character === "'") && isQuotable(text);
    if (opens) return readQuoted(line, at, text);
    const next = line.charAt(at + 1);
    const isEscape = character === '\\' && next !== '' && /[\s"'\\]/.test(next);
    text += isEscape ? next : character;
    at += isEscape ? 2 : 1;
  }
  return { text, plain: text.length, end: at };
}

function isQuotable(before: string): boolean {
  return before === '' || KEY_BEFORE_QUOTE.test(before);
}

function readQuoted(line: string, open: number, before: string): ReadWord | undefined {
  const quote = line.charAt(open);
  let text = before;
  for (let at = open + 1; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (character === quote) return { text, plain: before.length, end: at + 1 };
    const escaped = quote === '"' && character === '\\' ? ESCAPES[line.charAt(at + 1)] : undefined;
    text += escaped ?? character;
    if (escaped !== undefined) at += 1;
  }
  return undefined;
}
