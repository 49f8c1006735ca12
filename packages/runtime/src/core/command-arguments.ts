// Words as arguments of a tool: `--key value`, `--key=value`, `key=value`, `--flag`, `--no-flag`, and
// what has no name goes to the parameters not yet named, in the order of the schema. The last text among
// them takes the rest of the line as it was typed, so that `/run grep "a b" notes.txt` needs no quotes.

import { closestWord, isObject, tryParseJson } from '@starloom/core';
import type { ITool, JsonSchema } from '@starloom/sdk';
import { jsonOrText } from '../json.ts';

type ParsedArguments =
  | { readonly args: Readonly<Record<string, unknown>> }
  | { readonly problem: string };

export function toArguments(tool: ITool, words: readonly Word[]): ParsedArguments {
  return new ArgumentReader(tool).read(words);
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
  readonly #required: unknown;
  readonly #args: Record<string, unknown> = {};
  readonly #unnamed: Word[] = [];

  constructor(tool: ITool) {
    this.#properties = propertiesOf(tool);
    this.#required = tool.parameters.required;
  }

  read(words: readonly Word[]): ParsedArguments {
    for (let rest = words; rest.length > 0; ) {
      const [word, ...others] = rest;
      if (word === undefined) break;
      if (word.text === '--' && word.plain === 2) {
        this.#unnamed.push(...others);
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
        this.#unnamed.push(word);
        return 1;
      }
      return this.#set(name, value) ?? 1;
    }
    const key = this.#keyOf(name);
    if (key === undefined) return this.#takeUnknown(word, name, value);
    if (value !== undefined) return this.#set(key, value) ?? 1;
    if (this.#isFlag(key)) return this.#set(key, 'true') ?? 1;
    if (next === undefined) return `--${name} needs a value`;
    return this.#set(key, next.text) ?? 2;
  }

  /** `--no-flag`, or an option of the command that the rest of the line is. */
  #takeUnknown(word: Word, name: string, value: string | undefined): 1 | string {
    const key = name.startsWith('no-') ? this.#keyOf(name.slice(3)) : undefined;
    if (key !== undefined && this.#isFlag(key) && value === undefined) {
      return this.#set(key, 'false') ?? 1;
    }
    const near = closestWord(name, Object.keys(this.#properties));
    if (near !== undefined) return `there is no --${name}; did you mean --${near}?`;
    if (this.#unnamed.length === 0 || this.#restKey() === undefined) return `there is no --${name}`;
    this.#unnamed.push(word);
    return 1;
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
    const free = this.#freeKeys();
    const restKey = this.#restKey();
    for (const [index, word] of this.#unnamed.entries()) {
      const [key] = free;
      if (key === undefined) return `${JSON.stringify(word.text)} is one argument too many`;
      if (key === restKey) return this.#set(key, toRest(this.#unnamed.slice(index)));
      this.#set(key, word.text);
      if (!Array.isArray(this.#args[key])) free.shift();
    }
    return undefined;
  }

  #freeKeys(): string[] {
    return Object.keys(this.#properties).filter((key) => !Object.hasOwn(this.#args, key));
  }

  /** The last text that is not named, unless something behind it is required. */
  #restKey(): string | undefined {
    const free = this.#freeKeys();
    const last = free.findLastIndex((key) => isText(this.#properties[key] ?? {}));
    const required = Array.isArray(this.#required) ? this.#required : [];
    return free.slice(last + 1).some((key) => required.includes(key)) ? undefined : free[last];
  }
}

function isText(schema: JsonSchema): boolean {
  return typesOf(schema).has('string') && !Array.isArray(schema.enum);
}

/** One word is its text; several are what was typed, quotes included. */
function toRest(words: readonly Word[]): string {
  const [word, ...others] = words;
  if (others.length === 0) return word?.text ?? '';
  return words
    .map(({ typed }) => typed)
    .join('')
    .trim();
}

const YES = /^(?:true|yes|on)$/;
const NO = /^(?:false|no|off)$/;

/** The text as the schema wants it; as it is where that does not work, for the schema to refuse. */
function toValue(text: string, schema: JsonSchema): unknown {
  const types = typesOf(schema);
  if (types.size === 0 || types.has('string')) return text;
  if (types.has('boolean') && (YES.test(text) || NO.test(text))) return YES.test(text);
  if (types.has('array')) return toArray(text, schema);
  return jsonOrText(text);
}

function toArray(text: string, { items }: JsonSchema): unknown[] {
  const parsed = text.startsWith('[') ? tryParseJson(text) : undefined;
  if (Array.isArray(parsed)) return parsed;
  return [toValue(text, isObject(items) ? items : {})];
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}

interface Word {
  readonly text: string;
  /** How many characters from the left stood outside of quotes: only there is syntax. */
  readonly plain: number;
  /** As it was typed, with the blanks before it. */
  readonly typed: string;
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
    const start = at;
    while (at < line.length && WHITE.test(line.charAt(at))) at += 1;
    if (at >= line.length) return words;
    const word = readWord(line, at);
    if (word === undefined) return undefined;
    const { text, plain, end } = word;
    words.push({ text, plain, typed: line.slice(start, end) });
    at = end;
  }
}

interface ReadWord extends Omit<Word, 'typed'> {
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
